//! Seeded random numbers, so that a failure can be repeated.

/// Changes the seed of every test here.
const SEED_VARIABLE: &str = "LEAFLOG_PI_SEED";

const SEED_DEFAULT: u64 = 1;

/// The seed of this run.
pub(crate) fn seed() -> u64 {
    match std::env::var(SEED_VARIABLE) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{SEED_VARIABLE} is a number and not {text:?}")),
        Err(_) => SEED_DEFAULT,
    }
}

/// A stream of random numbers (splitmix64; Steele, Lea, Flood 2014).
pub(crate) struct Random(u64);

impl Random {
    /// A stream of its own for each `purpose`.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ purpose);
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number under `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    pub(crate) fn maybe<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        if list.is_empty() { None } else { list.get(self.below(list.len())) }
    }

    /// One of the values, each as often as its weight says.
    pub(crate) fn weighted<T: Copy>(&mut self, table: &[(usize, T)]) -> T {
        let mut left = self.below(table.iter().map(|(weight, _)| weight).sum());
        for (weight, value) in table {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return *value,
            }
        }
        unreachable!("the weights add up")
    }
}
