//! D1: the real migrations and statements on a real `SQLite`.

use onceward::runtime::Rows;
use onceward::store::d1::{Statement, Value};
use rusqlite::types::{ToSqlOutput, Value as Sql, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};
use serde_json::{Map, Value as Json};

pub struct Database {
    connection: Connection,
    last_write_wins: bool,
}

struct Bound<'a>(&'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Owned(match self.0 {
            Value::Null => Sql::Null,
            Value::Int(n) => Sql::Integer(i64::try_from(*n).expect("below 2^53")),
            Value::Text(text) => Sql::Text(text.clone()),
            Value::Blob(bytes) => Sql::Blob(bytes.clone()),
        }))
    }
}

fn json(value: ValueRef<'_>) -> Json {
    match value {
        ValueRef::Null => Json::Null,
        ValueRef::Integer(n) => n.into(),
        ValueRef::Real(n) => n.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => bytes.to_vec().into(),
    }
}

impl Database {
    pub fn new(last_write_wins: bool) -> Self {
        let connection = Connection::open_in_memory().expect("memory");
        for migration in onceward::store::d1::MIGRATIONS {
            connection.execute_batch(migration).expect("a migration");
        }
        Self {
            connection,
            last_write_wins,
        }
    }

    /// Runs statements as one transaction.
    pub fn batch(&self, statements: &[Statement]) -> Result<Vec<Rows>, String> {
        let transaction = self.connection.unchecked_transaction();
        let transaction = transaction.map_err(|e| e.to_string())?;
        let rows = statements.iter().map(|one| self.run(one)).collect();
        transaction.commit().map_err(|e| e.to_string())?;
        rows
    }

    fn run(&self, statement: &Statement) -> Result<Rows, String> {
        let mut sql = statement.sql.to_owned();
        if self.last_write_wins {
            sql = sql.replace(
                "WHERE (excluded.epoch, excluded.n) >",
                "WHERE 1 OR (excluded.epoch, excluded.n) >",
            );
        }
        let mut prepared = self.connection.prepare(&sql).map_err(|e| e.to_string())?;
        let names: Vec<String> = prepared.column_names().map(str::to_owned).collect();
        let values = params_from_iter(statement.values.iter().map(Bound));
        if names.is_empty() {
            let changes = prepared.execute(values).map_err(|e| e.to_string())?;
            return Ok(Rows {
                rows: Vec::new(),
                changes: changes as u64,
                written: 0,
            });
        }
        let mut found = prepared.query(values).map_err(|e| e.to_string())?;
        let mut rows = Vec::new();
        while let Some(row) = found.next().map_err(|e| e.to_string())? {
            let cells = names.iter().enumerate().map(|(n, name)| {
                let value = row.get_ref(n).expect("a column of the row");
                (name.clone(), json(value))
            });
            rows.push(cells.collect::<Map<String, Json>>());
        }
        Ok(Rows {
            rows,
            changes: 0,
            written: 0,
        })
    }

    /// The row of a task: state, generation, version and the bytes of its answer.
    pub fn row(&self, task_id: &str) -> Option<Stored> {
        let sql = "SELECT state, generation, answer_body, due_ms FROM tasks WHERE task_id = ?1";
        let number = |row: &rusqlite::Row<'_>, n| row.get::<_, i64>(n).map(i64::unsigned_abs);
        let read = self.connection.query_row(sql, [task_id], |row| {
            Ok(Stored {
                state: row.get(0)?,
                generation: number(row, 1)?,
                answer: row.get(2)?,
                due_ms: number(row, 3)?,
            })
        });
        read.ok()
    }
}

/// What D1 has of a task.
pub struct Stored {
    pub state: String,
    pub generation: u64,
    pub answer: Option<Vec<u8>>,
    /// When the rescuer looks at it, if it still stands so.
    pub due_ms: u64,
}
