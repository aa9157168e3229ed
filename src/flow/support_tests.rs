use super::*;

#[test]
fn all_types_are_in_the_table() {
    let page = table();
    for about in tasks().map(|spec| spec.about) {
        assert!(page.contains(&format!("| `{}` |", about.short())));
        for alias in about.aliases {
            assert!(page.contains(&format!("`{alias}`")));
        }
    }
    assert!(page.contains("`dependsOn`") && page.contains("io.kestra.plugin.scripts."));
}

#[test]
fn no_row_is_broken() {
    for line in table().lines().filter(|line| line.starts_with("| ")) {
        let cells = line.matches(" |").count();
        assert!((2..=4).contains(&cells), "{line}");
    }
}
