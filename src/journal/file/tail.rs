//! What to do about the end of a log: a decision table, without I/O (SPEC 1.5).

/// How a log ends before an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// It is empty, or its last byte is a line feed.
    Closed,
    /// Its last line is not finished: a record that is being written, or one that never will be.
    Open,
}

impl Tail {
    pub(super) fn of(last: Option<u8>) -> Self {
        match last {
            None | Some(b'\n') => Self::Closed,
            Some(_) => Self::Open,
        }
    }

    /// What the next write starts with. A line feed keeps whole what was whole and leaves what was torn as a line
    /// that readers skip; nothing is ever cut, since the line's writer may still be at work.
    pub(super) fn opening(self) -> &'static [u8] {
        match self {
            Self::Closed => b"",
            Self::Open => b"\n",
        }
    }
}

/// What to do after a write that stored less than it should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aftermath {
    /// Nothing was stored.
    Nothing,
    /// The log ends with our bytes: cut them off again, down to this size.
    CutBackTo(u64),
    /// Others wrote behind our bytes, or the size is not what it should be: close the line, so that readers skip it.
    Close,
}

impl Aftermath {
    /// Decides, under the lock, from where our bytes started, how many were written, and the size now.
    pub(super) fn of(start: u64, written: u64, size: u64) -> Self {
        if written == 0 {
            Self::Nothing
        } else if size == start + written {
            Self::CutBackTo(start)
        } else {
            Self::Close
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unfinished_line_is_closed_before_the_next_record() {
        assert_eq!(Tail::of(None).opening(), b"");
        assert_eq!(Tail::of(Some(b'\n')).opening(), b"");
        for last in [b'}', b'x', 0, b'\r'] {
            assert_eq!(Tail::of(Some(last)).opening(), b"\n");
        }
    }

    #[test]
    fn a_failed_write_is_cut_back_only_if_nothing_else_can_be_behind_it() {
        assert_eq!(Aftermath::of(100, 0, 100), Aftermath::Nothing);
        assert_eq!(Aftermath::of(100, 0, 130), Aftermath::Nothing);
        assert_eq!(Aftermath::of(100, 10, 110), Aftermath::CutBackTo(100));
        assert_eq!(Aftermath::of(100, 10, 111), Aftermath::Close);
        assert_eq!(Aftermath::of(100, 10, 105), Aftermath::Close);
    }
}
