//! The SQLite files behind a server: those of the objects, and D1's.

use rusqlite::{Connection, OptionalExtension as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tempfile::TempDir;

/// The files of one state folder.
pub struct Files {
    root: PathBuf,
}

/// A copy of a database, to be read while the server goes on writing.
pub struct Copy {
    pub db: Connection,
    _folder: TempDir,
}

/// A row of D1's `tasks`, as far as tests look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    pub version: (i64, i64),
    pub generation: i64,
    pub claims: u32,
    pub state: String,
    pub key: Option<String>,
    pub answer_body: Option<Vec<u8>>,
    pub error_message: Option<String>,
}

impl Files {
    pub fn new(state: &Path) -> Self {
        Self {
            root: state.join("v3"),
        }
    }

    /// Every file of the state, whatever it is.
    pub fn all(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut queue = vec![self.root.clone()];
        while let Some(folder) = queue.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    queue.push(path);
                } else {
                    found.push(path);
                }
            }
        }
        found
    }

    fn databases(&self, part: &str) -> Vec<PathBuf> {
        let mut found = self.all();
        found.retain(|path| {
            path.extension().is_some_and(|e| e == "sqlite")
                && path.file_name().is_some_and(|n| n != "metadata.sqlite")
                && path.components().any(|c| c.as_os_str() == part)
        });
        found
    }

    /// The files of all D1 databases.
    pub fn d1_paths(&self) -> Vec<PathBuf> {
        self.databases("d1")
    }

    /// The file of D1.
    pub fn d1_path(&self) -> PathBuf {
        let found = self.d1_paths();
        assert_eq!(found.len(), 1, "one database: {found:?}");
        found.into_iter().next().unwrap_or_default()
    }

    /// The file of the object that holds this task.
    pub fn object_of(&self, task_id: &str) -> Option<PathBuf> {
        let prefix = format!("{task_id}/");
        self.databases("do").into_iter().find(|path| {
            read(path)
                .is_ok_and(|copy| cells(&copy.db).iter().any(|cell| cell.starts_with(&prefix)))
        })
    }

    /// D1's row of a task.
    pub fn row(&self, task_id: &str) -> Result<Option<TaskRow>, String> {
        let copy = read(&self.d1_path())?;
        let sql = "SELECT epoch, n, generation, state, key, answer_body, error_message, claims FROM tasks WHERE task_id = ?1";
        copy.db
            .query_row(sql, [task_id], |row| {
                Ok(TaskRow {
                    version: (row.get(0)?, row.get(1)?),
                    generation: row.get(2)?,
                    state: row.get(3)?,
                    key: row.get(4)?,
                    answer_body: row.get(5)?,
                    error_message: row.get(6)?,
                    claims: row.get(7)?,
                })
            })
            .optional()
            .map_err(|error| error.to_string())
    }

    /// Takes all alarms of objects away, while the server is stopped; how many there were.
    pub fn forget_alarms(&self) -> usize {
        let mut objects = self.databases("do");
        let folder = objects
            .first()
            .and_then(|path| path.parent())
            .expect("an object");
        let schedule = Connection::open(folder.join("metadata.sqlite")).expect("the schedule");
        let gone = schedule
            .execute("DELETE FROM _cf_ALARM", [])
            .expect("alarms");
        for object in objects.drain(..) {
            let object = Connection::open(object).expect("an object");
            object
                .execute("DELETE FROM _cf_METADATA", [])
                .expect("its own copy");
        }
        gone
    }

    /// D1 itself, to be changed while the server is stopped.
    pub fn open_d1(&self) -> Connection {
        Connection::open(self.d1_path()).expect("D1's file")
    }
}

/// Names of the cells that an object holds.
pub fn cells(db: &Connection) -> Vec<String> {
    let Ok(mut statement) = db.prepare("SELECT CAST(key AS TEXT) FROM _cf_KV") else {
        return Vec::new();
    };
    let rows = statement.query_map([], |row| row.get(0));
    rows.map(|rows| rows.flatten().collect())
        .unwrap_or_default()
}

/// Copies a database and its log. Tried again if either changes meanwhile.
pub fn read(path: &Path) -> Result<Copy, String> {
    const TRIES: usize = 20;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let copy = folder.path().join("copy.sqlite");
    let log = path.with_extension("sqlite-wal");
    for _ in 0..TRIES {
        let before = (stamp(path), stamp(&log));
        fs::copy(path, &copy).map_err(|e| e.to_string())?;
        let log_copy = copy.with_extension("sqlite-wal");
        if fs::copy(&log, &log_copy).is_err() {
            let _ = fs::remove_file(&log_copy);
        }
        if before == (stamp(path), stamp(&log)) {
            let db = Connection::open(&copy).map_err(|e| e.to_string())?;
            return Ok(Copy {
                db,
                _folder: folder,
            });
        }
    }
    Err(format!("{} changes all the time", path.display()))
}

fn stamp(path: &Path) -> Option<(u64, SystemTime)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}
