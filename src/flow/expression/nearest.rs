//! The nearest of several names.

/// The one that is spelled most alike, if one is at all.
pub(super) fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // A name of a payload may be of any length.
    if name.len() > 64 {
        return None;
    }
    let wanted: Vec<char> = name.to_lowercase().chars().collect();
    let allowed = (wanted.len() / 3).clamp(1, 3);
    names
        .into_iter()
        .filter(|candidate| candidate.len() <= 64)
        .take(256)
        .map(|candidate| (distance(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.to_owned())
}

/// Letters that have to be put in, taken out, changed or swapped.
fn distance(from: &[char], to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut rows = vec![vec![0; from.len() + 1]; to.len() + 1];
    rows[0] = (0..=from.len()).collect();
    for y in 1..=to.len() {
        rows[y][0] = y;
        for x in 1..=from.len() {
            let change = rows[y - 1][x - 1] + usize::from(from[x - 1] != to[y - 1]);
            let mut least = change.min(rows[y - 1][x] + 1).min(rows[y][x - 1] + 1);
            if x > 1 && y > 1 && from[x - 1] == to[y - 2] && from[x - 2] == to[y - 1] {
                least = least.min(rows[y - 2][x - 2] + 1);
            }
            rows[y][x] = least;
        }
    }
    rows[to.len()][from.len()]
}
