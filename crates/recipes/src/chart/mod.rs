//! Line charts as SVG, light or dark as the reader prefers.
//!
//! Colours are CSS classes defined by [`STYLE`], which a page has once, and an SVG file itself.

mod scale;

use std::fmt::Write as _;

use self::scale::Scale;
use crate::numbers::significant;

/// The style sheet of charts.
pub(crate) const STYLE: &str = include_str!("style.css");

/// A line chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    pub(crate) logarithmic_x: bool,
    pub(crate) lines: Vec<Line>,
}

/// A line of a chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// Along the line; values without a place on the axes are left out.
    pub(crate) points: Vec<(f64, f64)>,
}

// In units that are about 0.75 pixels on a phone.
const WIDTH: f64 = 480.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 34.0;
const PLOT_HEIGHT: f64 = 200.0;
const AXIS_HEIGHT: f64 = 44.0;
const LEGEND_ROW: f64 = 18.0;
/// The approximate width of a letter.
const LETTER: f64 = 7.0;
/// Lines with their own colours; further ones repeat these, dashed.
const COLOURS: usize = 8;
/// Lines with up to so many points have them marked, with their values on hover.
const MOST_MARKED: usize = 40;
/// The digits of those values.
const DIGITS: usize = 5;
/// The columns of a longer line; of the points in one only the lowest and the highest are drawn.
const COLUMNS: usize = 400;

impl Chart {
    /// As a file.
    pub(crate) fn svg(&self) -> String {
        let head = format!(
            "<style>{STYLE}</style><rect class=\"chart-paper\" width=\"100%\" height=\"100%\"/>"
        );
        self.draw("xmlns=\"http://www.w3.org/2000/svg\" ", &head)
    }

    /// For a page that has [`STYLE`] already.
    pub(crate) fn inline(&self) -> String {
        self.draw("", "")
    }

    /// - `namespace`: makes the element SVG outside a page
    /// - `head`: what it begins with
    fn draw(&self, namespace: &str, head: &str) -> String {
        let lines: Vec<(&Line, Vec<(f64, f64)>)> =
            self.lines.iter().map(|line| (line, self.drawable(&line.points))).collect();
        let points = || lines.iter().flat_map(|(_, points)| points);
        let (x, y) = (points().map(|point| point.0), points().map(|point| point.1));
        let x = if self.logarithmic_x { Scale::logarithmic(x) } else { Scale::tight(x) };
        let y = Scale::rounded(y);
        let legend = self.legend();
        let height = TOP + PLOT_HEIGHT + AXIS_HEIGHT + legend.height;
        let title = escaped(&self.title);
        let mut svg = format!(
            "<svg {namespace}class=\"chart\" role=\"img\" \
             viewBox=\"0 0 {WIDTH} {height}\"><title>{title}</title>{head}\
             <text class=\"chart-title\" x=\"{LEFT}\" y=\"20\">{title}</text>"
        );
        svg += &self.axes(&x, &y);
        for (index, (line, points)) in lines.iter().enumerate() {
            svg += &drawn(line, points, &x, &y, index);
        }
        if points().next().is_none() {
            let (middle, centre) = ((LEFT + WIDTH - RIGHT) / 2.0, TOP + PLOT_HEIGHT / 2.0);
            // Writing to a `String` cannot fail, here and below.
            let _ = write!(
                svg,
                "<text class=\"chart-label\" text-anchor=\"middle\" x=\"{middle}\" y=\"{centre}\">\
                 nothing was recorded</text>"
            );
        }
        svg + &legend.svg + "</svg>"
    }

    /// The points that have a place, thinned to what can be told apart.
    fn drawable(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let has_place = |value: f64| value.abs() <= scale::LARGEST;
        let least = if self.logarithmic_x { scale::LEAST_LOGARITHMIC } else { -scale::LARGEST };
        let points: Vec<(f64, f64)> = points
            .iter()
            .copied()
            .filter(|&(x, y)| has_place(x) && x >= least && has_place(y))
            .collect();
        if points.len() <= 2 * COLUMNS { points } else { thinned(&points) }
    }

    fn axes(&self, x: &Scale, y: &Scale) -> String {
        let (right, bottom) = (WIDTH - RIGHT, TOP + PLOT_HEIGHT);
        let mut svg = String::new();
        for tick in x.ticks() {
            let place = across(x, tick.value);
            let _ = write!(
                svg,
                "<path class=\"chart-grid\" d=\"M{place:.1} {TOP}V{bottom}\"/>\
                 <text class=\"chart-tick\" text-anchor=\"middle\" x=\"{place:.1}\" y=\"{:.1}\">{}</text>",
                bottom + 15.0,
                tick.text
            );
        }
        for tick in y.ticks() {
            let place = down(y, tick.value);
            let _ = write!(
                svg,
                "<path class=\"chart-grid\" d=\"M{LEFT} {place:.1}H{right}\"/>\
                 <text class=\"chart-tick\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT - 6.0,
                place + 4.0,
                tick.text
            );
        }
        let (x_label, y_label) = (escaped(&self.x_label), escaped(&self.y_label));
        let (middle, centre) = ((LEFT + right) / 2.0, TOP + PLOT_HEIGHT / 2.0);
        let _ = write!(
            svg,
            "<path class=\"chart-axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>\
             <text class=\"chart-label\" text-anchor=\"middle\" x=\"{middle}\" y=\"{:.1}\">{x_label}</text>\
             <text class=\"chart-label\" text-anchor=\"middle\" \
             transform=\"translate(13 {centre}) rotate(-90)\">{y_label}</text>",
            bottom + 34.0
        );
        svg
    }

    /// The names of the lines, in rows below the chart; nothing for a single line.
    fn legend(&self) -> Legend {
        if self.lines.len() < 2 {
            return Legend { svg: String::new(), height: 0.0 };
        }
        let (mut svg, mut rows, mut left) = (String::new(), 1.0, LEFT);
        for (index, line) in self.lines.iter().enumerate() {
            let width = 34.0 + LETTER * line.name.chars().count() as f64;
            if left > LEFT && left + width > WIDTH {
                (rows, left) = (rows + 1.0, LEFT);
            }
            let centre = TOP + PLOT_HEIGHT + AXIS_HEIGHT + LEGEND_ROW * (rows - 0.5);
            let _ = write!(
                svg,
                "<path class=\"{}\" d=\"M{left:.1} {centre:.1}h18\"/>\
                 <text class=\"chart-tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                classes(index),
                left + 23.0,
                centre + 4.0,
                escaped(&line.name)
            );
            left += width;
        }
        Legend { svg, height: LEGEND_ROW * rows + 6.0 }
    }
}

struct Legend {
    svg: String,
    height: f64,
}

fn across(scale: &Scale, value: f64) -> f64 {
    LEFT + scale.place(value) * (WIDTH - LEFT - RIGHT)
}

fn down(scale: &Scale, value: f64) -> f64 {
    TOP + (1.0 - scale.place(value)) * PLOT_HEIGHT
}

fn classes(index: usize) -> String {
    let dashed = if index < COLOURS { "" } else { " chart-dashed" };
    format!("chart-line chart-{}{dashed}", index % COLOURS)
}

fn drawn(line: &Line, points: &[(f64, f64)], x: &Scale, y: &Scale, index: usize) -> String {
    let places: Vec<String> = points
        .iter()
        .map(|point| format!("{:.1},{:.1}", across(x, point.0), down(y, point.1)))
        .collect();
    let mut svg =
        format!("<polyline class=\"{}\" points=\"{}\"/>", classes(index), places.join(" "));
    if points.len() <= MOST_MARKED {
        for point in points {
            let _ = write!(
                svg,
                "<circle class=\"chart-dot chart-{}\" r=\"2.5\" cx=\"{:.1}\" cy=\"{:.1}\">\
                 <title>{}: {}, {}</title></circle>",
                index % COLOURS,
                across(x, point.0),
                down(y, point.1),
                escaped(&line.name),
                significant(point.0, DIGITS),
                significant(point.1, DIGITS)
            );
        }
    }
    svg
}

/// The first and the last point, and the lowest and the highest of each run of neighbours, in order.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let of_column = |column: &[(f64, f64)]| {
        let lower = |a: &(f64, f64), b: &(f64, f64)| a.1.total_cmp(&b.1);
        let lowest = column.iter().copied().min_by(lower);
        let highest = column.iter().copied().max_by(lower);
        let mut ends: Vec<(f64, f64)> = lowest.into_iter().chain(highest).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends
    };
    let columns = points.chunks(points.len().div_ceil(COLUMNS)).flat_map(of_column);
    points.first().copied().into_iter().chain(columns).chain(points.last().copied()).collect()
}

/// Text escaped for XML.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            // Not allowed in XML.
            control if control.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, points: &[(f64, f64)]) -> Line {
        Line { name: name.to_owned(), points: points.to_vec() }
    }

    fn chart(lines: Vec<Line>) -> Chart {
        Chart { title: "loss".to_owned(), lines, ..Chart::default() }
    }

    /// The places of the first line.
    fn places(svg: &str) -> Vec<(f64, f64)> {
        let text = svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        let point = |pair: &str| {
            let (x, y) = pair.split_once(',').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        };
        text.split_whitespace().map(point).collect()
    }

    #[test]
    fn points_lie_where_their_values_are() {
        let svg = chart(vec![line("a", &[(0.0, 0.0), (5.0, 0.5), (10.0, 1.0)])]).inline();
        let (right, bottom) = (WIDTH - RIGHT, TOP + PLOT_HEIGHT);
        let middle = ((LEFT + right) / 2.0, TOP + PLOT_HEIGHT / 2.0);
        assert_eq!(places(&svg), [(LEFT, bottom), middle, (right, TOP)]);
    }

    #[test]
    fn a_logarithmic_axis_has_equal_steps_for_equal_ratios() {
        let powers = [(1e-4, 1.0), (1e-3, 1.0), (1e-2, 1.0)];
        let svg = Chart { logarithmic_x: true, ..chart(vec![line("a", &powers)]) }.inline();
        let places = places(&svg);
        assert!((places[1].0 - places[0].0 - (places[2].0 - places[1].0)).abs() < 0.11);
        assert!(svg.contains(">0.001</text>"), "{svg}");
    }

    #[test]
    fn what_has_no_place_is_left_out() {
        let odd = [(1.0, f64::NAN), (2.0, 2.0), (3.0, f64::INFINITY), (-1.0, 3.0), (4.0, 1e308)];
        let svg = Chart { logarithmic_x: true, ..chart(vec![line("a", &odd)]) }.inline();
        assert_eq!(places(&svg).len(), 1);
        for odd in ["NaN", "inf"] {
            assert!(!svg.contains(odd), "{svg}");
        }
        let none = chart(vec![line("a", &[])]).inline();
        assert!(none.contains("nothing was recorded") && places(&none).is_empty());
        assert!(!none.contains("NaN"), "{none}");
    }

    #[test]
    fn several_lines_are_told_apart() {
        let one = chart(vec![line("first", &[(0.0, 1.0)])]).inline();
        assert!(!one.contains(">first</text>"), "a single line needs no legend");
        let lines = (0..10).map(|index| line(&format!("run {index}"), &[(0.0, 1.0)])).collect();
        let many = chart(lines).inline();
        assert!(many.contains(">run 9</text>"));
        assert!(many.contains("class=\"chart-line chart-1 chart-dashed\""));
    }

    #[test]
    fn a_long_line_keeps_its_ends_and_its_peaks() {
        // A falling zigzag, neither of whose ends is the lowest or the highest of its neighbours.
        let zigzag = |x: u32| {
            (f64::from(x), if x.is_multiple_of(2) { -1.0 } else { 1.0 } - f64::from(x) / 1e4)
        };
        let mut points: Vec<(f64, f64)> = (0..50_000).map(zigzag).collect();
        points[31_234].1 = 9.0;
        let thin = thinned(&points);
        assert!(thin.len() <= 2 * COLUMNS + 2, "{}", thin.len());
        assert!(thin.contains(&(31_234.0, 9.0)));
        assert_eq!((thin[0], thin[thin.len() - 1]), (points[0], points[49_999]));
        assert!(thin.is_sorted_by(|a, b| a.0 <= b.0));
    }

    #[test]
    fn text_is_escaped_and_a_file_of_its_own_has_its_style() {
        let chart = Chart { title: "a<b & \"c\"\n".to_owned(), ..Chart::default() };
        assert!(chart.inline().contains("<title>a&lt;b &amp; &quot;c&quot; </title>"));
        assert!(!chart.inline().contains("<style>"));
        assert!(chart.svg().contains("prefers-color-scheme"));
        assert!(chart.svg().starts_with("<svg xmlns=") && chart.svg().ends_with("</svg>"));
    }
}
