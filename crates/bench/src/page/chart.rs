//! Charts of results: how much faster than peers, and how cost grows.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::row::{Row, beside_frameworks, is_alone, label, peers};

/// Pixels.
const WIDTH: u32 = 860;
const ROW: u32 = 18;
const COLOURS: [RGBColor; 8] = [
    RGBColor(31, 119, 180),
    RGBColor(44, 160, 44),
    RGBColor(255, 127, 14),
    RGBColor(148, 103, 189),
    RGBColor(214, 39, 40),
    RGBColor(23, 190, 207),
    RGBColor(140, 86, 75),
    RGBColor(227, 119, 194),
];
/// A grey that shows on white and on black, for pages with a dark theme.
const INK: RGBColor = RGBColor(128, 128, 128);

/// Every chart that the rows give, with its file's name.
pub(super) fn all(rows: &[Row]) -> Result<Vec<(String, String)>> {
    let mut charts = Vec::new();
    let compared = beside_frameworks(rows);
    if !compared.is_empty() {
        charts.push(("ratios.svg".to_owned(), ratios(&compared)?));
    }
    for series in series(rows) {
        charts.push((format!("{}.svg", series.title()), growth(&series)?));
    }
    Ok(charts)
}

/// A bar for each row and peer: the peer's time over ours, on a logarithmic axis.
fn ratios(rows: &[Row]) -> Result<String> {
    let names = peers(rows);
    let bars: Vec<(String, &str, f64)> = rows
        .iter()
        .flat_map(|row| {
            let peers = row.entry.peers.iter();
            peers.map(move |peer| (label(row, rows), peer.name.as_str(), peer.ratio))
        })
        .collect();
    let largest = bars.iter().fold(2.0, |largest: f64, bar| largest.max(bar.2)) * 1.3;
    let smallest = bars.iter().fold(0.8, |smallest: f64, bar| smallest.min(bar.2)) / 1.3;
    let count = bars.len();
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, 110 + ROW * count as u32));
        let area = area.into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .caption("peer's time / ours (right of 1: ours is faster)", font(18))
            .margin(10)
            .x_label_area_size(30)
            .y_label_area_size(180)
            .build_cartesian_2d((smallest..largest).log_scale(), 0.0..count as f64)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .axis_style(INK)
            .max_light_lines(1)
            .light_line_style(INK.mix(0.1))
            .bold_line_style(INK.mix(0.3))
            .label_style(font(12))
            .y_labels(0)
            .x_label_formatter(&|ratio| format!("{ratio}"))
            .draw()
            .map_err(failed)?;
        for (index, name) in names.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let of_peer = bars.iter().rev().enumerate().filter(|(_, bar)| bar.1 == *name);
            let rectangles = of_peer.map(|(row, bar)| {
                let (low, high) = (row as f64 + 0.15, row as f64 + 0.85);
                Rectangle::new([(1.0, low), (bar.2, high)], colour.filled())
            });
            chart.draw_series(rectangles).map_err(failed)?.label(*name).legend(move |(x, y)| {
                Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled())
            });
        }
        // The ratio stands at the end of a bar, the entry's name before the first of its bars.
        for (row, (entry, _, ratio)) in bars.iter().rev().enumerate() {
            let (x, y) = chart.backend_coord(&(ratio.max(1.0), row as f64 + 0.75));
            area.draw(&Text::new(format!("{ratio:.2}"), (x + 4, y), font(12))).map_err(failed)?;
            let first = bars.iter().position(|bar| bar.0 == *entry);
            if first == Some(count - 1 - row) {
                area.draw(&Text::new(entry.clone(), (12, y), font(12))).map_err(failed)?;
            }
        }
        legend(&mut chart, SeriesLabelPosition::UpperRight)?;
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

/// A benchmark that was run with different values of one number.
struct Series {
    name: String,
    axis: String,
    /// One for each recipe; a point is the number and the seconds of a step.
    lines: Vec<(String, Vec<(f64, f64)>)>,
}

impl Series {
    /// Its name, with the axis where that is not its end: a benchmark may have several.
    fn title(&self) -> String {
        let Self { name, axis, .. } = self;
        if name.ends_with(axis) { name.clone() } else { format!("{name}-{axis}") }
    }
}

/// Rows with names such as `scaling-batch/mlp/batch=64`.
fn series(rows: &[Row]) -> Vec<Series> {
    let mut found: Vec<Series> = Vec::new();
    for row in rows {
        let Row { machine, entry } = row;
        let parts: Vec<&str> = entry.name.split('/').collect();
        let &[name, line, point] = parts.as_slice() else { continue };
        let Some((axis, number)) = point.split_once('=') else { continue };
        let Ok(number) = number.parse::<f64>() else { continue };
        let is_same = |series: &Series| series.name == name && series.axis == axis;
        let index = found.iter().position(is_same).unwrap_or_else(|| {
            let (name, axis) = (name.to_owned(), axis.to_owned());
            found.push(Series { name, axis, lines: Vec::new() });
            found.len() - 1
        });
        let lines = &mut found[index].lines;
        let point = (number, entry.median_seconds);
        let line = if is_alone(row, rows) { line.to_owned() } else { format!("{line}, {machine}") };
        match lines.iter_mut().find(|(name, _)| *name == line) {
            Some((_, points)) => points.push(point),
            None => lines.push((line, vec![point])),
        }
    }
    // A point alone shows no growth.
    found.retain(|series| series.lines.iter().any(|(_, points)| points.len() > 1));
    found
}

/// Seconds of a step over the number, both on logarithmic axes: a slope of 1 is a cost in proportion.
fn growth(series: &Series) -> Result<String> {
    let points: Vec<(f64, f64)> =
        series.lines.iter().flat_map(|(_, points)| points.iter().copied()).collect();
    let range = |values: &mut dyn Iterator<Item = f64>| {
        let (low, high) =
            values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        low / 1.3..high * 1.3
    };
    let (x, y) = (
        range(&mut points.iter().map(|point| point.0)),
        range(&mut points.iter().map(|point| point.1)),
    );
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, 420)).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .caption(format!("{}: seconds of a step", series.title()), font(18))
            .margin(10)
            .x_label_area_size(45)
            .y_label_area_size(70)
            .build_cartesian_2d(x.log_scale(), y.log_scale())
            .map_err(failed)?;
        chart
            .configure_mesh()
            .axis_style(INK)
            .max_light_lines(1)
            .light_line_style(INK.mix(0.1))
            .bold_line_style(INK.mix(0.3))
            .label_style(font(12))
            .x_desc(series.axis.as_str())
            .x_label_formatter(&|number| format!("{number}"))
            .y_label_formatter(&|seconds| format!("{seconds:.0e}"))
            .draw()
            .map_err(failed)?;
        for (index, (name, points)) in series.lines.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let line =
                LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(3);
            chart.draw_series(line).map_err(failed)?.label(name.as_str()).legend(move |(x, y)| {
                Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled())
            });
        }
        legend(&mut chart, SeriesLabelPosition::LowerRight)?;
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

fn legend<'a, X, Y>(
    chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>,
    position: SeriesLabelPosition,
) -> Result<()>
where
    X: plotters::coord::ranged1d::Ranged,
    Y: plotters::coord::ranged1d::Ranged,
{
    chart
        .configure_series_labels()
        .position(position)
        .border_style(INK)
        .label_font(font(12))
        .draw()
        .map_err(failed)
}

fn font(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

fn failed<E: std::fmt::Display>(error: E) -> anyhow::Error {
    anyhow!("a chart cannot be drawn: {error}")
}

#[cfg(test)]
mod tests {
    use super::{
        super::{row::rows, text::tests::RESULTS},
        *,
    };
    use crate::{
        Entry, Machine,
        results::tests::{gpu, machine, results},
    };

    #[test]
    fn each_ratio_is_a_bar_and_each_series_a_chart() {
        let charts = all(&rows(&[results(machine(), RESULTS)]).concat()).unwrap();
        let files: Vec<&String> = charts.iter().map(|(file, _)| file).collect();
        assert_eq!(files, ["ratios.svg", "scaling-batch.svg"]);
        let bars = &charts[0].1;
        for text in ["mlp-step", "1.78", "3.56", "pytorch", "tensorflow"] {
            assert!(bars.contains(text), "no {text} in {bars}");
        }
        assert!(charts[1].1.contains("<polyline"), "{}", charts[1].1);
    }

    #[test]
    fn a_name_without_a_number_is_no_series() {
        let found = series(&rows(&[results(machine(), RESULTS)]).concat());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].axis, "batch");
        assert_eq!(found[0].lines, [("mlp".to_owned(), vec![(1.0, 1e-5), (64.0, 4e-5)])]);
    }

    #[test]
    fn another_machine_is_another_bar_and_another_line() {
        let of = |machines: [Machine; 2]| {
            rows(&machines.map(|machine| results(machine, RESULTS))).concat()
        };
        let both = of([machine(), gpu()]);
        let found = series(&both);
        let names: Vec<&str> = found[0].lines.iter().map(|line| line.0.as_str()).collect();
        assert_eq!(names, ["mlp, cpu", "mlp, cuda"]);
        let bars = ratios(&both).unwrap();
        assert!(bars.contains("cpu mlp-step") && bars.contains("cuda mlp-step"), "{bars}");

        let both = of([machine(), Machine { cores: 64, ..machine() }]);
        let found = series(&both);
        let names: Vec<&str> = found[0].lines.iter().map(|line| line.0.as_str()).collect();
        assert_eq!(names, ["mlp, AMD EPYC(TM) 7B13, 2 cores", "mlp, AMD EPYC(TM) 7B13, 64 cores"]);
        assert!(ratios(&both).unwrap().contains("7B13, 64 cores mlp-step"));
    }

    #[test]
    fn each_number_of_a_benchmark_has_its_chart() {
        let row = |point: &str| {
            let name = format!("ranks/cnn/{point}");
            let entry = Entry { name, median_seconds: 1.0, ..Entry::default() };
            Row { machine: "cpu".to_owned(), entry }
        };
        let points = ["threads=2", "strong=1", "strong=2", "strong=4", "weak=2", "weak=4"];
        let charts = all(&points.map(row)).unwrap();
        let files: Vec<&str> = charts.iter().map(|(file, _)| file.as_str()).collect();
        assert_eq!(files, ["ranks-strong.svg", "ranks-weak.svg"]);
    }
}
