//! Charts of lines and points as SVG, light or dark as the reader prefers.
//!
//! Colours are CSS classes defined by [`STYLE`], which a page has once, and an SVG file itself.

mod scale;

use askama::Template;

use self::scale::Scale;
use crate::{console::printable, names::shortened, numbers::significant};

/// The style sheet of charts.
pub(crate) const STYLE: &str = include_str!("style.css");

/// A chart of lines, or of points.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x_label: String,
    pub(crate) y_label: String,
    pub(crate) logarithmic_x: bool,
    pub(crate) lines: Vec<Line>,
    /// A place across that is marked where a line has it, and a word on what it is.
    pub(crate) mark: Option<(f64, String)>,
}

/// A line of a chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// Along the line; values without a place on the axes are left out.
    pub(crate) points: Vec<(f64, f64)>,
    /// Whether the points are drawn alone, without a line between them.
    pub(crate) loose: bool,
    /// Its name below the chart, if that is another.
    pub(crate) legend: Option<String>,
    /// Whether it is another of the kind of the line before, and so has its colour, and no name below the
    /// chart.
    pub(crate) repeats: bool,
}

// In units that are about 0.75 pixels on a phone.
const WIDTH: f64 = 480.0;
/// The x position of the vertical axis, unless its numbers are long.
const LEFT: f64 = 82.0;
/// The room before those numbers, for its label, and the gap behind them.
const LABEL: f64 = 22.0;
const TICK_GAP: f64 = 6.0;
const RIGHT: f64 = WIDTH - 22.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = TOP + 200.0;
const CENTRE: f64 = (TOP + BOTTOM) / 2.0;
const AXIS_HEIGHT: f64 = 44.0;
const LEGEND_ROW: f64 = 18.0;
/// The place of a line's mark in the legend, before its name, and the gap after that.
const MARK: f64 = 23.0;
const GAP: f64 = 14.0;
/// Lines with their own colours; further ones repeat these, dashed.
const COLOURS: usize = 8;
/// Lines with up to so many points have them marked, with their values on hover.
const MOST_MARKED: usize = 40;
/// The digits of those values.
const DIGITS: usize = 5;
/// The columns of a longer line; of the points in one only the lowest and the highest are drawn.
const COLUMNS: usize = 400;

/// A chart with its places, as the template draws it.
#[derive(Template)]
#[template(path = "chart.svg")]
struct Drawing<'a> {
    /// In a file of its own, which needs it.
    style: Option<&'static str>,
    title: &'a str,
    x_label: &'a str,
    y_label: &'a str,
    /// The x position of the vertical axis.
    left: f64,
    height: f64,
    /// Where across, where the middle of the text is, and what stands there.
    x_ticks: Vec<(f64, f64, &'a str)>,
    /// Where down, and what stands there.
    y_ticks: Vec<(f64, &'a str)>,
    lines: Vec<DrawnLine>,
    /// Where across, and what it is.
    mark: Option<(f64, &'a str)>,
    is_empty: bool,
}

struct DrawnLine {
    name: String,
    /// Its CSS classes.
    colour: String,
    points: Vec<DrawnPoint>,
    loose: bool,
    /// Whether the points on the line are marked.
    marked: bool,
    /// If there are several lines.
    legend: Option<Legend>,
}

/// A line's name below the chart.
#[derive(Clone, Debug)]
struct Legend {
    left: f64,
    centre: f64,
    /// Cut in the middle where it is longer than a row.
    name: String,
}

struct DrawnPoint {
    x: f64,
    y: f64,
    /// Shown on hover.
    value: String,
}

impl Chart {
    /// As a file.
    pub(crate) fn svg(&self) -> String {
        self.draw(Some(STYLE))
    }

    /// For a page that has [`STYLE`] already.
    pub(crate) fn inline(&self) -> String {
        self.draw(None)
    }

    fn draw(&self, style: Option<&'static str>) -> String {
        let lines: Vec<Vec<(f64, f64)>> =
            self.lines.iter().map(|line| self.drawable(line)).collect();
        let points = || lines.iter().flatten();
        let (x, y) = (points().map(|point| point.0), points().map(|point| point.1));
        let is_scatter = self.lines.iter().any(|line| line.loose);
        let x = match self.logarithmic_x {
            true => Scale::logarithmic(x),
            false if is_scatter => Scale::rounded(x),
            false => Scale::tight(x),
        };
        let y = Scale::rounded(y);
        let legend = self.legend();
        let end = legend.iter().flatten().last().map(|last| last.centre + LEGEND_ROW / 2.0 + 6.0);
        let kinds = self.kinds();
        let widest = y.ticks().iter().map(|tick| width_of(&tick.text)).fold(0.0, f64::max);
        let left = LEFT.max(LABEL + widest + TICK_GAP);
        let drawn = |(index, points): (usize, &Vec<(f64, f64)>)| DrawnLine {
            name: printable(&self.lines[index].name),
            colour: colour(kinds[index]),
            points: points.iter().map(|&point| DrawnPoint::of(point, left, &x, &y)).collect(),
            loose: self.lines[index].loose,
            marked: points.len() <= MOST_MARKED && !is_scatter,
            legend: legend.get(index).cloned().flatten(),
        };
        let drawing = Drawing {
            style,
            title: &self.title,
            x_label: &self.x_label,
            y_label: &self.y_label,
            left,
            height: end.unwrap_or(BOTTOM + AXIS_HEIGHT),
            x_ticks: x_ticks(&x, left),
            y_ticks: y
                .ticks()
                .iter()
                .map(|tick| (down(&y, tick.value), tick.text.as_str()))
                .collect(),
            lines: lines.iter().enumerate().map(drawn).collect(),
            mark: self
                .mark
                .as_ref()
                .filter(|(place, _)| points().any(|point| point.0 == *place))
                .map(|(place, what)| (across(&x, *place, left), what.as_str())),
            is_empty: points().next().is_none(),
        };
        drawing
            .render()
            .expect("a template fails only where its writer does, and a string does not")
    }

    /// The points that have a place, thinned to what can be told apart.
    fn drawable(&self, line: &Line) -> Vec<(f64, f64)> {
        let has_place = |value: f64| value.abs() <= scale::LARGEST;
        let least = if self.logarithmic_x { scale::LEAST_LOGARITHMIC } else { -scale::LARGEST };
        let points: Vec<(f64, f64)> = line
            .points
            .iter()
            .copied()
            .filter(|&(x, y)| has_place(x) && x >= least && has_place(y))
            .collect();
        if line.loose || points.len() <= 2 * COLUMNS { points } else { thinned(&points) }
    }

    /// Of each line, how many kinds come before its own.
    fn kinds(&self) -> Vec<usize> {
        let mut kinds = 0;
        let kind = |line: &Line| {
            kinds += usize::from(!line.repeats);
            kinds.saturating_sub(1)
        };
        self.lines.iter().map(kind).collect()
    }

    /// The names of the lines, in rows below the chart, but of one that repeats another; nothing for a
    /// single kind.
    fn legend(&self) -> Vec<Option<Legend>> {
        if self.lines.iter().filter(|line| !line.repeats).count() < 2 {
            return Vec::new();
        }
        let (mut left, mut centre) = (LEFT, BOTTOM + AXIS_HEIGHT + LEGEND_ROW / 2.0);
        let place = |line: &Line| {
            if line.repeats {
                return None;
            }
            let name = line.legend.as_ref().unwrap_or(&line.name);
            let name = fitting(&printable(name), WIDTH - LEFT - MARK);
            let width = MARK + width_of(&name) + GAP;
            if left > LEFT && left + width > WIDTH {
                (left, centre) = (LEFT, centre + LEGEND_ROW);
            }
            let legend = Legend { left, centre, name };
            left += width;
            Some(legend)
        };
        self.lines.iter().map(place).collect()
    }
}

impl DrawnPoint {
    fn of(point: (f64, f64), left: f64, x: &Scale, y: &Scale) -> Self {
        let value = format!("{}, {}", significant(point.0, DIGITS), significant(point.1, DIGITS));
        Self { x: across(x, point.0, left), y: down(y, point.1), value }
    }
}

/// The ticks across, as the template draws them; where their texts would touch, every second one, or
/// fewer.
fn x_ticks(x: &Scale, left: f64) -> Vec<(f64, f64, &str)> {
    let touch = |pair: &[(f64, f64, &str)]| {
        let [(_, middle, text), (_, next_middle, next)] = pair else { return false };
        middle + (width_of(text) + width_of(next)) / 2.0 + TICK_GAP > *next_middle
    };
    let every = |step: usize| -> Vec<_> {
        let ticks = x.ticks().iter().step_by(step);
        ticks
            .map(|tick| {
                let (place, text) = (across(x, tick.value, left), tick.text.as_str());
                (place, place.min(WIDTH - width_of(text) / 2.0), text)
            })
            .collect()
    };
    let fits = |ticks: &Vec<(f64, f64, &str)>| !ticks.windows(2).any(touch);
    (1..).map(every).find(fits).unwrap_or_default()
}

/// The longest form of a name with so much room.
fn fitting(name: &str, room: f64) -> String {
    let fits = |name: &String| width_of(name) <= room;
    let letters = name.chars().count();
    (0..=letters).rev().map(|most| shortened(name, most)).find(fits).unwrap_or_default()
}

/// - `left`: the x position of the vertical axis
fn across(scale: &Scale, value: f64, left: f64) -> f64 {
    left + scale.place(value) * (RIGHT - left)
}

fn down(scale: &Scale, value: f64) -> f64 {
    TOP + (1.0 - scale.place(value)) * (BOTTOM - TOP)
}

/// The width of a text in the widest of the usual fonts.
fn width_of(text: &str) -> f64 {
    let width = |letter: char| match letter {
        'i' | 'j' | 'l' | 'I' | 'J' | ' ' | '.' | ',' | ':' | ';' | '\'' | '/' | '|' => 4.5,
        'f' | 't' | 'r' | '-' | '(' | ')' | '[' | ']' | '!' => 5.3,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 13.0,
        'A'..='Z' => 10.2,
        '\0'..='~' => 8.4,
        _ => 13.0,
    };
    text.chars().map(width).sum()
}

/// The CSS classes of a line's colour.
fn colour(index: usize) -> String {
    let dashed = if index < COLOURS { "" } else { " chart-dashed" };
    format!("chart-{}{dashed}", index % COLOURS)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, points: &[(f64, f64)]) -> Line {
        Line { name: name.to_owned(), points: points.to_vec(), ..Line::default() }
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
        let middle = (LEFT + RIGHT) / 2.0;
        assert_eq!(places(&svg), [(LEFT, BOTTOM), (middle, CENTRE), (RIGHT, TOP)]);
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
    fn loose_points_have_no_line_and_are_all_drawn() {
        let points: Vec<(f64, f64)> = (0..2000).map(|x| (f64::from(x % 7), f64::from(x))).collect();
        let loose = Line { loose: true, ..line("rows", &points) };
        let svg = chart(vec![loose, line("diagonal", &[(0.0, 0.0), (2000.0, 2000.0)])]).inline();
        assert_eq!(svg.matches("class=\"chart-loose chart-0\"").count(), 2000);
        assert_eq!(places(&svg), [(LEFT, BOTTOM), (RIGHT, TOP)], "the diagonal alone is a line");
        assert_eq!(svg.matches("class=\"chart-dot chart-0\"").count(), 1, "in the legend");
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

        let marked = |points: &[(f64, f64)]| {
            let mark = Some((2.0, "best".to_owned()));
            Chart { mark, ..chart(vec![line("a", points)]) }.inline().contains(">best</text>")
        };
        assert!(marked(&[(1.0, 0.0), (2.0, 1.0)]) && !marked(&[(1.0, 0.0)]) && !marked(&[]));

        let again = Line { repeats: true, ..line("again", &[(0.0, 1.0)]) };
        assert!(chart(vec![line("one", &[]), again.clone()]).legend().is_empty());
        let other = line("other", &[(0.0, 1.0)]);
        let two_kinds = chart(vec![line("one", &[(0.0, 1.0)]), again, other]);
        assert_eq!(two_kinds.kinds(), [0, 0, 1]);
        let legend = two_kinds.legend();
        let names: Vec<&str> = legend.iter().flatten().map(|legend| legend.name.as_str()).collect();
        assert_eq!(names, ["one", "other"]);
    }

    #[test]
    fn names_in_the_legend_do_not_touch_the_next_mark() {
        let names = ["smoothed", "www mmm", "a\u{1b}", "模型", "loss"];
        let chart = chart(names.map(|name| line(name, &[])).into());
        let places: Vec<Legend> = chart.legend().into_iter().flatten().collect();
        // As wide as in DejaVu Sans.
        for (index, width) in [(0, 65.0), (1, 74.1)] {
            let end = places[index].left + MARK + width;
            assert!(places[index + 1].left >= end + 8.0, "{places:?}");
        }
        let svg = chart.inline();
        assert!(svg.contains(&format!("x=\"{:.1}\"", places[1].left + MARK)), "{svg}");
    }

    #[test]
    fn a_name_that_is_longer_than_a_row_keeps_both_its_ends() {
        let name = |seed: u32| format!("{}{seed}", "resnet-on-our-pictures-".repeat(4));
        let chart = chart([1, 2].map(|seed| line(&name(seed), &[(0.0, 1.0)])).into());
        for (legend, seed) in chart.legend().into_iter().flatten().zip(["1", "2"]) {
            assert!(
                legend.name.starts_with("resnet-") && legend.name.ends_with(seed),
                "{legend:?}"
            );
            assert!(legend.left + MARK + width_of(&legend.name) <= WIDTH, "{legend:?}");
        }
        let whole = format!("<title>{}</title>", name(1));
        assert!(chart.inline().contains(&whole), "{}", chart.inline());
        assert!(fitting(&"模".repeat(60), 300.0).chars().count() < 25);
    }

    #[test]
    fn long_numbers_of_the_axes_have_room() {
        let points: Vec<(f64, f64)> =
            (0..9).map(|x| (1.7e9 + 500.0 * f64::from(x), 1.7e9 - 480.0 * f64::from(x))).collect();
        let svg = chart(vec![line("a", &points)]).inline();
        let texts = |class: &str| -> Vec<(f64, String)> {
            let tick = |text: &str| {
                let (place, rest) = text.split_once("x=\"")?.1.split_once('"')?;
                let text = rest.split_once('>')?.1.split_once('<')?.0;
                Some((place.parse().ok()?, text.to_owned()))
            };
            svg.split("<text ").filter(|text| text.contains(class)).filter_map(tick).collect()
        };
        let across = texts("text-anchor=\"middle\" x=");
        let across = &across[..across.len() - 1]; // the label
        assert!(across.len() > 1 && across[0].1.contains("e9"), "{across:?}");
        for pair in across.windows(2) {
            let room = pair[1].0 - pair[0].0;
            assert!((width_of(&pair[0].1) + width_of(&pair[1].1)) / 2.0 < room, "{across:?}");
        }
        let down = texts("text-anchor=\"end\"");
        assert!(
            down.len() > 2 && down.iter().all(|(x, text)| x - width_of(text) > LABEL - 0.1),
            "{down:?}"
        );
        assert!((places(&svg)[0].0 - down[0].0 - TICK_GAP).abs() < 0.1, "{svg}");
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
        let names = ["a<b & \"c\"", "a\u{1b}"].map(|name| line(name, &[]));
        let chart = chart(names.into());
        for name in [">a&#60;b &#38; &#34;c&#34;</text>", ">a\\u{1b}</text>"] {
            assert!(chart.inline().contains(name), "{}", chart.inline());
        }
        assert!(!chart.inline().contains("<style>"));
        assert!(chart.svg().contains("prefers-color-scheme"));
        // Programs other than browsers would draw nothing, or all in black.
        let plain = STYLE.split("@media").next().unwrap();
        assert!(!STYLE.contains("var(") && !plain.contains(": auto"));
        assert!(chart.svg().starts_with("<svg xmlns=") && chart.svg().ends_with("</svg>"));
    }
}
