//! What looks at or mends whole logs.

mod migrate;

pub use migrate::{Migrated, migrate};
