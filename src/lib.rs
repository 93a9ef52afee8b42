//! leaflog
mod codec;
mod error;
pub(crate) mod model;
pub use codec::checksum::Checksum;
pub use error::{Error, ErrorKind, Result};
