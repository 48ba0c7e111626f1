//! Values of `/metrics`, in the text format of Prometheus.

/// The samples of one response.
pub struct Metrics(Vec<Sample>);

struct Sample {
    name: String,
    labels: String,
    value: f64,
}

impl Metrics {
    /// Reads the samples. Other lines are left out.
    pub fn parse(text: &str) -> Self {
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        Self(samples.filter_map(sample).collect())
    }

    /// The value of a metric; with several series, the largest one.
    pub fn largest(&self, name: &str) -> Option<f64> {
        let values = self.0.iter().filter(|sample| sample.name == name);
        values.map(|sample| sample.value).reduce(f64::max)
    }

    /// The value of the series with a label.
    pub fn labelled(&self, name: &str, label: &str, value: &str) -> Option<f64> {
        let wanted = format!("{label}=\"{value}\"");
        let is_it = |sample: &&Sample| sample.name == name && sample.labels.contains(&wanted);
        self.0.iter().find(is_it).map(|sample| sample.value)
    }
}

fn sample(line: &str) -> Option<Sample> {
    let (series, value) = line.trim().rsplit_once(' ')?;
    let (name, labels) = series.split_once('{').unwrap_or((series, ""));
    Some(Sample {
        name: name.to_owned(),
        labels: labels.to_owned(),
        value: value.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name_and_label() {
        let metrics = Metrics::parse(
            "# TYPE a gauge\na 1\nb{kind=\"mail\"} 2\nb{kind=\"webhook\"} 3.5\nbroken\nb_c 9\n",
        );
        let found = [
            metrics.largest("a"),
            metrics.largest("b"),
            metrics.labelled("b", "kind", "mail"),
            metrics.labelled("b", "kind", "none"),
            metrics.largest("c"),
        ];
        assert_eq!(found, [Some(1.0), Some(3.5), Some(2.0), None, None]);
    }
}
