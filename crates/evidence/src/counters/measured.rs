//! Reads what `ncu --csv --page raw` wrote.

use super::tally::Counts;

/// The hardware counters, in the order of [`Counts::each`] (Nsight Compute, "Metrics Reference").
pub const METRICS: [&str; 4] = [
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
];

/// A file that can't be read as `ncu`'s.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// No table in it; what `ncu` said instead.
    #[error("no table of counters: {0}")]
    NoTable(String),
    /// A counter is missing.
    #[error("no column `{0}`")]
    NoColumn(&'static str),
    /// A value is no number.
    #[error("`{value}` in column `{column}` is no number")]
    NoNumber {
        /// The column.
        column: &'static str,
        /// The value.
        value: String,
    },
    /// Not a table after all.
    #[error("{0}")]
    Malformed(String),
    /// Another number of kernels than the job launches.
    #[error("{found} kernels were measured, {wanted} launched")]
    Kernels {
        /// Rows.
        found: usize,
        /// Launches.
        wanted: usize,
    },
}

/// The sums over all kernels of a table, of which there must be `launches`.
///
/// # Errors
///
/// See [`MeasureError`].
pub fn read_csv(text: &str, launches: usize) -> Result<Counts, MeasureError> {
    let table: String = text
        .lines()
        .filter(|line| line.starts_with('"'))
        .flat_map(|line| [line, "\n"])
        .collect();
    if table.is_empty() {
        let said = text.lines().rev().find(|line| !line.trim().is_empty());
        return Err(MeasureError::NoTable(said.unwrap_or("nothing").to_owned()));
    }
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let malformed = |error: csv::Error| MeasureError::Malformed(error.to_string());
    let header = reader.headers().map_err(malformed)?.clone();
    let mut columns = [0; METRICS.len()];
    for (column, metric) in columns.iter_mut().zip(METRICS) {
        *column = header
            .iter()
            .position(|name| name == metric)
            .ok_or(MeasureError::NoColumn(metric))?;
    }
    let mut sums = [0u64; METRICS.len()];
    let mut kernels = 0;
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        // The row below the header holds the units.
        if record.get(0).is_none_or(|id| id.trim().is_empty()) {
            continue;
        }
        kernels += 1;
        for ((sum, column), metric) in sums.iter_mut().zip(columns).zip(METRICS) {
            let value = record.get(column).unwrap_or_default();
            *sum += number(value).ok_or_else(|| MeasureError::NoNumber {
                column: metric,
                value: value.to_owned(),
            })?;
        }
    }
    if kernels != launches {
        return Err(MeasureError::Kernels {
            found: kernels,
            wanted: launches,
        });
    }
    let [
        shared_load_wavefronts,
        shared_store_wavefronts,
        global_load_sectors,
        global_store_sectors,
    ] = sums;
    Ok(Counts {
        shared_load_wavefronts,
        shared_store_wavefronts,
        global_load_sectors,
        global_store_sectors,
    })
}

/// A count, with separators of thousands or without.
fn number(text: &str) -> Option<u64> {
    text.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &str) -> String {
        let header: Vec<_> = METRICS.iter().map(|m| format!("\"{m}\"")).collect();
        format!(
            "==PROF== Connected to process 7\n\"ID\",\"Kernel Name\",{}\n\"\",\"\",\"\",\"\",\"sector\",\"sector\"\n{rows}",
            header.join(",")
        )
    }

    #[test]
    fn kernels_are_summed() {
        let text = table(
            "\"0\",\"scan(int *, int)\",\"1,024\",\"32\",\"4\",\"8\"\n\"1\",\"scan(int *, int)\",\"1\",\"2\",\"3\",\"4\"\n",
        );
        let counts = read_csv(&text, 2).unwrap();
        assert_eq!(counts.each().map(|(_, n)| n), [1025, 34, 7, 12]);
        assert_eq!(
            read_csv(&text, 3),
            Err(MeasureError::Kernels {
                found: 2,
                wanted: 3
            })
        );
    }

    #[test]
    fn what_is_no_table_is_told() {
        assert_eq!(
            read_csv("==ERROR== ERR_NVGPUCTRPERM\n", 1)
                .unwrap_err()
                .to_string(),
            "no table of counters: ==ERROR== ERR_NVGPUCTRPERM"
        );
        let named = "\"ID\",\"Kernel Name\"\n\"0\",\"k\"\n";
        assert_eq!(read_csv(named, 1), Err(MeasureError::NoColumn(METRICS[0])));
        let text = table("\"0\",\"k\",\"n/a\",\"32\",\"4\",\"8\"\n");
        assert_eq!(
            read_csv(&text, 1).unwrap_err().to_string(),
            format!("`n/a` in column `{}` is no number", METRICS[0])
        );
    }
}
