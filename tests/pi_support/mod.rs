//! What the pi oracle tests share.

pub(crate) mod content;
pub(crate) mod files;
pub(crate) mod model;
pub(crate) mod node;
pub(crate) mod race;
pub(crate) mod random;
pub(crate) mod text;
pub(crate) mod view;
pub(crate) mod writer;
