//! Flow-size distributions: piecewise-linear distribution functions, sampled by inversion.

use crate::text::{self, TextProblem};
use farspan_units::{Bytes, Random};
use std::path::Path;

/// Why a table is not a distribution of sizes. Every message names file and line.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SizesError {
    /// No built-in distribution has this name.
    #[error("no built-in size distribution is called {name:?}{}; there are {known}, or give the path of a CSV, which ends in .csv",
        text::hint(*near))]
    UnknownName {
        /// The name asked for.
        name: String,
        /// The nearest known name.
        near: Option<&'static str>,
        /// All names.
        known: String,
    },
    /// The file cannot be read.
    #[error("{file}: cannot be read ({reason}); give the path of a CSV with the header `size_bytes,cdf`")]
    Unreadable {
        /// Path of the file.
        file: String,
        /// The error of the operating system.
        reason: String,
    },
    /// The file is not text.
    #[error("{file}:{line}: not UTF-8; save the table as UTF-8 text")]
    NotUtf8 {
        /// Path of the file.
        file: String,
        /// Line, from 1.
        line: u64,
    },
    /// The first line is not the header.
    #[error("{file}:{line}: the header is {found:?}; expected `size_bytes,cdf`")]
    Header {
        /// Path of the file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// The line as it stands.
        found: String,
    },
    /// The table has no rows.
    #[error("{file}: has no rows; give at least one `size_bytes,cdf` with a cdf of 1")]
    Empty {
        /// Path of the file.
        file: String,
    },
    /// A row does not have two fields.
    #[error("{file}:{line}: {fields} fields; expected two, `size_bytes,cdf`")]
    Fields {
        /// Path of the file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Number of fields.
        fields: usize,
    },
    /// A field is not a number in its range.
    #[error("{file}:{line}: {column} is {found:?}; expected {expected}")]
    Number {
        /// Path of the file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Column of the field.
        column: &'static str,
        /// The field as it stands.
        found: String,
        /// The value expected.
        expected: &'static str,
    },
    /// A value is smaller than in the row before.
    #[error(
        "{file}:{line}: {column} falls from {before} to {found}; sort the rows so that both columns rise"
    )]
    NotMonotone {
        /// Path of the file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Column of the field.
        column: &'static str,
        /// Value of the row before.
        before: f64,
        /// Value of this row.
        found: f64,
    },
    /// The last cdf is not 1.
    #[error(
        "{file}:{line}: the cdf ends at {last}; the last row must have a cdf of 1 (divide percentages by 100)"
    )]
    NotOne {
        /// Path of the file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// The last cdf.
        last: f64,
    },
    /// All flows would be empty.
    #[error("{file}:{line}: the largest size is 0 B; give sizes of at least 1 B")]
    AllZero {
        /// Path of the file.
        file: String,
        /// Line, from 1.
        line: u64,
    },
}

/// Name and table of each built-in distribution; the source is cited in the table.
const BUILT_IN: [(&str, &str); 7] = [
    ("websearch", include_str!("../data/websearch.csv")),
    ("alibaba-wan", include_str!("../data/alibaba-wan.csv")),
    ("alistorage", include_str!("../data/alistorage.csv")),
    ("google-rpc", include_str!("../data/google-rpc.csv")),
    ("fb-hadoop", include_str!("../data/fb-hadoop.csv")),
    ("fb-cachefollower", include_str!("../data/fb-cachefollower.csv")),
    ("datamining", include_str!("../data/datamining.csv")),
];

/// Names of the built-in distributions.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// A distribution of flow sizes. Between two points the distribution function is linear; a first point with a cdf
/// above 0, or two points of one size, is a point mass. Draws are rounded to the nearest byte, at least 1 B.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeDistribution {
    /// Sizes in bytes, not falling.
    sizes: Vec<u64>,
    /// Distribution function at each size, not falling, 1 at the end.
    cdf: Vec<f64>,
}

impl SizeDistribution {
    /// Every flow has the same size, at least 1 B.
    #[must_use]
    pub fn constant(size: Bytes) -> Self {
        Self { sizes: vec![size.get().max(1)], cdf: vec![1.0] }
    }

    /// The built-in distribution `name`.
    ///
    /// # Errors
    /// [`SizesError::UnknownName`], with the nearest name.
    pub fn built_in(name: &str) -> Result<Self, SizesError> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((_, table)) => Self::parse(name, table),
            None => {
                let known: Vec<_> = names().collect();
                let near = text::nearest(name, &known);
                Err(SizesError::UnknownName { name: name.to_owned(), near, known: known.join(", ") })
            }
        }
    }

    /// A distribution from a CSV with the header `size_bytes,cdf` (cdf from 0 to 1); lines that begin with `#` are
    /// comments.
    ///
    /// # Errors
    /// If the file cannot be read or is not such a table.
    pub fn from_csv(path: &Path) -> Result<Self, SizesError> {
        let file = path.display().to_string();
        match text::read(path) {
            Ok(table) => Self::parse(&file, &table),
            Err(TextProblem::Unreadable(reason)) => Err(SizesError::Unreadable { file, reason }),
            Err(TextProblem::NotUtf8(line)) => Err(SizesError::NotUtf8 { file, line }),
        }
    }

    /// A distribution from the text of such a CSV; `file` names it in messages.
    ///
    /// # Errors
    /// If the text is not such a table.
    pub fn parse(file: &str, table: &str) -> Result<Self, SizesError> {
        let mut rows = text::rows(table);
        let (line, header) = rows.next().ok_or_else(|| SizesError::Empty { file: file.to_owned() })?;
        if header != ["size_bytes", "cdf"] {
            return Err(SizesError::Header {
                file: file.to_owned(),
                line,
                found: text::shown(&header.join(",")),
            });
        }
        let mut this = Self { sizes: Vec::new(), cdf: Vec::new() };
        let mut last_line = line;
        for (line, fields) in rows {
            let (size, cdf) = point(file, line, &fields)?;
            this.push(file, line, size, cdf)?;
            last_line = line;
        }
        this.complete(file, last_line)
    }

    fn push(&mut self, file: &str, line: u64, size: u64, cdf: f64) -> Result<(), SizesError> {
        let falls = |column, before, found| SizesError::NotMonotone {
            file: file.to_owned(),
            line,
            column,
            before,
            found,
        };
        if let (Some(&last_size), Some(&last_cdf)) = (self.sizes.last(), self.cdf.last()) {
            if size < last_size {
                return Err(falls("size_bytes", last_size as f64, size as f64));
            }
            if cdf < last_cdf {
                return Err(falls("cdf", last_cdf, cdf));
            }
        }
        self.sizes.push(size);
        self.cdf.push(cdf);
        Ok(())
    }

    fn complete(self, file: &str, line: u64) -> Result<Self, SizesError> {
        let file = file.to_owned();
        match self.cdf.last() {
            None => Err(SizesError::Empty { file }),
            Some(&last) if last < 1.0 => Err(SizesError::NotOne { file, line, last }),
            Some(_) if self.largest().is_zero() => Err(SizesError::AllZero { file, line }),
            Some(_) => Ok(self),
        }
    }

    /// The size below which a share `u` (0 <= u < 1) of the flows lies, interpolated linearly.
    #[must_use]
    pub fn quantile(&self, u: f64) -> Bytes {
        // The first point above `u`; the one before it is at or below, so the segment between has a width.
        let i = self.cdf.partition_point(|c| *c <= u).min(self.cdf.len() - 1);
        if i == 0 {
            return Bytes::new(self.sizes[0].max(1));
        }
        let (a, b) = (self.sizes[i - 1], self.sizes[i]);
        let share = (u - self.cdf[i - 1]) / (self.cdf[i] - self.cdf[i - 1]);
        let size = a + libm::round(share.min(1.0) * (b - a) as f64) as u64;
        Bytes::new(size.max(1))
    }

    /// Draws a size; one draw of `random`.
    pub fn sample(&self, random: &mut Random) -> Bytes {
        self.quantile(random.uniform())
    }

    /// The smallest share `u` from which sizes are above `size`: the distribution function of the rounded draws.
    #[must_use]
    pub fn cdf(&self, size: Bytes) -> f64 {
        if size.is_zero() {
            return 0.0;
        }
        // A draw is at most `size` if the real number before rounding lies below size + 1/2.
        let x = size.as_f64() + 0.5;
        let i = self.sizes.partition_point(|s| (*s as f64) < x);
        if i == 0 {
            return 0.0;
        }
        if i == self.sizes.len() {
            return 1.0;
        }
        let (a, b) = (self.sizes[i - 1] as f64, self.sizes[i] as f64);
        self.cdf[i - 1] + (self.cdf[i] - self.cdf[i - 1]) * (x - a) / (b - a)
    }

    /// The exact mean of the draws in bytes: of each segment its middle, of a point mass its size. Rounding to the
    /// nearest byte keeps the mean of a segment; raising 0 B to 1 B adds the probability of 0.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.segments().map(|(a, b, mass)| mass * (a + b) / 2.0).sum::<f64>() + self.raised()
    }

    /// The exact standard deviation of the draws before rounding, in bytes.
    #[must_use]
    pub fn standard_deviation(&self) -> f64 {
        let square: f64 = self.segments().map(|(a, b, mass)| mass * (a * a + a * b + b * b) / 3.0).sum();
        libm::sqrt((square - self.mean() * self.mean()).max(0.0))
    }

    /// The exact mean number of packets with at most `payload` bytes each: the sum over j of P(size > j payload).
    ///
    /// # Panics
    /// If `payload` is zero.
    #[must_use]
    pub fn mean_packets(&self, payload: Bytes) -> f64 {
        let most = self.largest().segments(payload);
        (0..most).map(|j| 1.0 - self.cdf(payload * j)).sum()
    }

    /// The largest size.
    #[must_use]
    pub fn largest(&self) -> Bytes {
        Bytes::new(self.sizes.last().copied().unwrap_or(0))
    }

    /// (from, to, probability) of each linear segment, the point mass at the first size included.
    fn segments(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let first = (self.sizes[0] as f64, self.sizes[0] as f64, self.cdf[0]);
        let rest = (1..self.sizes.len())
            .map(|i| (self.sizes[i - 1] as f64, self.sizes[i] as f64, self.cdf[i] - self.cdf[i - 1]));
        std::iter::once(first).chain(rest)
    }

    /// The probability that a draw rounds to 0 B and is raised to 1 B.
    fn raised(&self) -> f64 {
        let zero = |(a, b, mass): (f64, f64, f64)| match () {
            () if a > 0.0 => 0.0,
            () if b == 0.0 => mass,
            () => mass * 0.5 / b,
        };
        self.segments().map(zero).sum()
    }
}

/// One row of a table.
fn point(file: &str, line: u64, fields: &[&str]) -> Result<(u64, f64), SizesError> {
    let &[size, cdf] = fields else {
        return Err(SizesError::Fields { file: file.to_owned(), line, fields: fields.len() });
    };
    let bad = |column, found: &str, expected| SizesError::Number {
        file: file.to_owned(),
        line,
        column,
        found: text::shown(found),
        expected,
    };
    let size = size.parse().map_err(|_| bad("size_bytes", size, "a whole number of bytes, not negative"))?;
    match cdf.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok((size, share)),
        _ => Err(bad("cdf", cdf, "a number from 0 to 1 (divide percentages by 100)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::Purpose;
    use proptest::prelude::*;

    fn draws(sizes: &SizeDistribution, n: usize, seed: u64) -> Vec<u64> {
        let mut random = Random::new(seed, Purpose::Test, 0);
        (0..n).map(|_| sizes.sample(&mut random).get()).collect()
    }

    #[test]
    fn built_in_means_are_the_published_ones() {
        let mean = |name| SizeDistribution::built_in(name).unwrap().mean();
        for (name, published) in [
            ("websearch", 1_711_250.0),
            ("alibaba-wan", 63_957_661.0),
            ("alistorage", 40_870.0),
            ("google-rpc", 2943.0),
            ("fb-hadoop", 120_421.0),
            ("fb-cachefollower", 686_602.0),
            ("datamining", 5_036_535.0),
        ] {
            assert!((mean(name) - published).abs() <= 0.6, "{name}: {}", mean(name));
        }
    }

    #[test]
    fn sampled_means_lie_within_3_sigma_of_the_exact_mean() {
        for name in names() {
            let sizes = SizeDistribution::built_in(name).unwrap();
            let n = 200_000;
            let mean = draws(&sizes, n, 5).iter().map(|x| *x as f64).sum::<f64>() / n as f64;
            let sigma = sizes.standard_deviation() / (n as f64).sqrt();
            assert!((mean - sizes.mean()).abs() < 3.0 * sigma, "{name}: {mean} for {}", sizes.mean());
        }
    }

    #[test]
    fn samples_follow_the_distribution_function() {
        for name in names() {
            let sizes = SizeDistribution::built_in(name).unwrap();
            let n = 20_000;
            let mut sorted = draws(&sizes, n, 6);
            sorted.sort_unstable();
            let mut distance = 0.0_f64;
            for (i, x) in sorted.iter().enumerate() {
                if sorted.get(i + 1) != Some(x) {
                    let empirical = (i + 1) as f64 / n as f64;
                    distance = distance.max((empirical - sizes.cdf(Bytes::new(*x))).abs());
                }
            }
            // Kolmogorov's critical value at 0.1%.
            assert!(distance < 1.95 / (n as f64).sqrt(), "{name}: {distance}");
        }
    }

    #[test]
    fn a_first_point_above_zero_is_a_point_mass() {
        let sizes = SizeDistribution::parse("t", "size_bytes,cdf\n100,0.25\n200,1\n").unwrap();
        assert_eq!(sizes.quantile(0.0), Bytes::new(100));
        assert_eq!(sizes.quantile(0.249), Bytes::new(100));
        assert_eq!(sizes.quantile(0.625), Bytes::new(150));
        assert!((sizes.mean() - (25.0 + 0.75 * 150.0)).abs() < 1e-9);
    }

    #[test]
    fn two_points_of_one_size_are_a_point_mass() {
        let sizes = SizeDistribution::parse("t", "size_bytes,cdf\n0,0\n100,0.2\n100,0.8\n200,1\n").unwrap();
        assert_eq!([0.2, 0.5, 0.79].map(|u| sizes.quantile(u).get()), [100; 3]);
        assert!((sizes.mean() - (0.2 * 50.0 + 60.0 + 30.0) - 0.2 * 0.5 / 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_level_stretch_is_never_drawn() {
        let sizes = SizeDistribution::parse("t", "size_bytes,cdf\n0,0\n10,0.5\n90,0.5\n100,1\n").unwrap();
        assert!(draws(&sizes, 10_000, 1).iter().all(|x| *x <= 10 || *x >= 90));
    }

    #[test]
    fn a_draw_is_at_least_one_byte() {
        let sizes = SizeDistribution::parse("t", "size_bytes,cdf\n0,0.5\n1,1\n").unwrap();
        assert_eq!(draws(&sizes, 100, 1), [1; 100]);
        assert!((sizes.mean() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn mean_packets_of_a_constant_size_is_the_number_of_packets() {
        let sizes = SizeDistribution::constant(Bytes::new(4097));
        assert_eq!(sizes.mean_packets(Bytes::new(4096)), 2.0);
        assert_eq!(sizes.mean_packets(Bytes::new(4097)), 1.0);
    }

    #[test]
    fn mean_packets_lies_within_3_sigma_of_a_sample() {
        let (payload, n) = (4096, 100_000);
        let sizes = SizeDistribution::built_in("websearch").unwrap();
        let mean = draws(&sizes, n, 9).iter().map(|x| x.div_ceil(payload) as f64).sum::<f64>() / n as f64;
        let sigma = sizes.standard_deviation() / payload as f64 / (n as f64).sqrt();
        let exact = sizes.mean_packets(Bytes::new(payload));
        assert!((mean - exact).abs() < 3.0 * sigma, "{mean} for {exact}");
    }

    #[test]
    fn bad_tables_are_refused_with_place_and_cure() {
        let cases: [(&str, &str); 15] = [
            ("", "t.csv: has no rows"),
            ("# only a comment\n", "t.csv: has no rows"),
            ("size_bytes,cdf\n", "t.csv: has no rows"),
            ("size,cdf\n1,1\n", "t.csv:1: the header is \"size,cdf\"; expected `size_bytes,cdf`"),
            ("100,0.5\n200,1\n", "t.csv:1: the header"),
            ("size_bytes,cdf\n100\n", "t.csv:2: 1 fields; expected two"),
            ("size_bytes,cdf\n100,0.5,7\n", "t.csv:2: 3 fields"),
            ("size_bytes,cdf\n-1,0\n5,1\n", "t.csv:2: size_bytes is \"-1\"; expected a whole number"),
            ("size_bytes,cdf\nten,0\n5,1\n", "t.csv:2: size_bytes is \"ten\""),
            ("size_bytes,cdf\n1,0\n5,100\n", "t.csv:3: cdf is \"100\"; expected a number from 0 to 1"),
            ("size_bytes,cdf\n1,nan\n5,1\n", "t.csv:2: cdf is \"nan\""),
            ("size_bytes,cdf\n\n1,0\n9,0.5\n5,1\n", "t.csv:5: size_bytes falls from 9 to 5; sort"),
            ("size_bytes,cdf\n1,0.5\n9,0.2\n10,1\n", "t.csv:3: cdf falls from 0.5 to 0.2; sort"),
            (
                "size_bytes,cdf\n1,0\n9,0.99\n",
                "t.csv:3: the cdf ends at 0.99; the last row must have a cdf of 1",
            ),
            ("size_bytes,cdf\n0,0\n0,1\n", "t.csv:3: the largest size is 0 B"),
        ];
        for (table, message) in cases {
            let error = SizeDistribution::parse("t.csv", table).expect_err(table).to_string();
            assert!(error.starts_with(message), "{table:?}: {error}");
        }
    }

    #[test]
    fn an_unknown_name_brings_the_nearest_one() {
        let error = SizeDistribution::built_in("web-search").unwrap_err().to_string();
        assert!(error.contains("did you mean \"websearch\"?") && error.contains("alibaba-wan"), "{error}");
    }

    #[test]
    fn a_missing_or_binary_file_is_named() {
        let error = SizeDistribution::from_csv(Path::new("/no/such.csv")).unwrap_err().to_string();
        assert!(error.starts_with("/no/such.csv: cannot be read"), "{error}");
        let path = std::env::temp_dir().join(format!("farspan-sizes-{}.csv", std::process::id()));
        std::fs::write(&path, b"size_bytes,cdf\n1,\xff\n").unwrap();
        let error = SizeDistribution::from_csv(&path).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(error, SizesError::NotUtf8 { line: 2, .. }), "{error}");
    }

    proptest! {
        #[test]
        fn quantiles_rise_and_stay_within_the_table(
            raw in prop::collection::vec((0_u64..1_000_000, 0_u32..1000), 1..20), u in 0.0..1.0_f64, v in 0.0..1.0_f64,
        ) {
            let mut sizes: Vec<u64> = raw.iter().map(|r| r.0).collect();
            let mut shares: Vec<u32> = raw.iter().map(|r| r.1).collect();
            sizes.sort_unstable();
            shares.sort_unstable();
            let mut table = String::from("size_bytes,cdf\n");
            for (size, share) in sizes.iter().zip(&shares) {
                table += &format!("{size},{}\n", f64::from(*share) / 1000.0);
            }
            table += &format!("{},1\n", sizes[sizes.len() - 1] + 1);
            let d = SizeDistribution::parse("t", &table).unwrap();
            let (low, high) = (d.quantile(u.min(v)), d.quantile(u.max(v)));
            prop_assert!(low <= high && high <= d.largest() && low.get() >= sizes[0].max(1));
            // Inversion: a share below the cdf of a size gives at most that size.
            prop_assert!(d.cdf(low) >= u.min(v) - 1e-9);
        }
    }
}
