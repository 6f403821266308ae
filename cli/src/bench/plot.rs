//! The figures as a picture: ns per call and GB/s over the size, on log axes.
//!
//! There is no background: the picture lies on white and on dark pages alike, so
//! every colour is a middle tone, at least 3:1 against either (the measure of
//! WCAG 2 for graphics), which a test holds. Each line is named at its end, in its
//! colour, and names are moved away from each other where lines end together.

use super::contenders::{FILL, GLIBC, KERNEL, LIBBSD, OPENSSL, OWNPOOL, VDSO};
use super::report::{Report, Row};
use ownpool_measure::picture::{self, Area, Drawn};
use ownpool_measure::samples::extremes;
use ownpool_measure::table::size;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const SIZE: (u32, u32) = (1120, 480);

/// Axes and words.
const GREY: RGBColor = RGBColor(128, 128, 128);

/// A contender's colour.
const COLOURS: [(&str, RGBColor); 7] = [
    (KERNEL, RGBColor(128, 128, 128)),
    (VDSO, RGBColor(150, 120, 40)),
    (OWNPOOL, RGBColor(38, 128, 205)),
    (FILL, RGBColor(20, 150, 160)),
    (LIBBSD, RGBColor(46, 145, 80)),
    (OPENSSL, RGBColor(210, 80, 60)),
    (GLIBC, RGBColor(150, 95, 200)),
];

/// A panel: title, and what is drawn of a row.
type Panel = (&'static str, fn(&Row) -> f64);

/// One-thread figures of getrandom and its peers.
///
/// # Errors
/// What the drawing library could not do, or that there is nothing to draw.
pub(super) fn svg(report: &Report) -> Result<String, String> {
    picture::svg(SIZE, |area| draw(report, area))
}

fn colour(who: &str) -> RGBColor {
    COLOURS
        .iter()
        .find(|row| row.0 == who)
        .map_or(GREY, |row| row.1)
}

/// `4`, `16K`, `1M`: what fits under an axis.
fn short(bytes: usize) -> String {
    size(bytes)
        .replace(" B", "")
        .replace(" KiB", "K")
        .replace(" MiB", "M")
}

fn words(height: u32, colour: RGBColor, horizontal: HPos) -> TextStyle<'static> {
    ("sans-serif", height)
        .into_font()
        .color(&colour)
        .pos(Pos::new(horizontal, VPos::Center))
}

fn draw(report: &Report, area: &Area<'_>) -> Drawn {
    let setup = &report.setup;
    let about = [
        &setup.version,
        &setup.machine.cpu,
        &setup.machine.kernel,
        &setup.machine.libc,
    ];
    let about: Vec<&str> = about.into_iter().map(String::as_str).collect();
    area.draw_text(&about.join("  ·  "), &words(16, GREY, HPos::Left), (16, 16))?;
    let (_, below) = area.split_vertically(28);
    let panels: [Panel; 2] = [
        ("ns per call by bytes, 1 thread", |row| row.ns),
        ("GB/s by bytes, 1 thread", |row| row.gb_per_s),
    ];
    for (part, panel) in below.split_evenly((1, 2)).iter().zip(panels) {
        draw_panel(report, part, panel)?;
    }
    Ok(())
}

fn draw_panel(report: &Report, area: &Area<'_>, (title, figure): Panel) -> Drawn {
    let rows = || report.of("getrandom", 1);
    let names = Report::distinct(rows().map(|row| row.who.as_str()));
    let (low, high) = extremes(rows().map(figure));
    let widest = rows().map(|row| row.bytes).max().ok_or("no figures")?;
    let mut chart = ChartBuilder::on(area)
        .caption(title, words(18, GREY, HPos::Center))
        .margin(12)
        .margin_right(96)
        .x_label_area_size(34)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (4f64..widest as f64).log_scale().base(4.0),
            (low / 1.3..high * 1.3).log_scale(),
        )?;
    chart
        .configure_mesh()
        .axis_style(GREY)
        .bold_line_style(GREY.mix(0.35))
        .light_line_style(TRANSPARENT)
        .label_style(words(14, GREY, HPos::Center))
        .x_labels(11)
        .x_label_formatter(&|bytes| short(*bytes as usize))
        .y_label_formatter(&|value| format!("{value}"))
        .draw()?;
    let mut ends = Vec::new();
    for &who in &names {
        let points: Vec<(f64, f64)> = rows()
            .filter(|row| row.who == who)
            .map(|row| (row.bytes as f64, figure(row)))
            .collect();
        let style = colour(who).stroke_width(if who == OWNPOOL { 4 } else { 2 });
        if let Some(last) = points.last() {
            ends.push((who, chart.backend_coord(last)));
        }
        chart.draw_series(LineSeries::new(points, style))?;
    }
    ends.sort_by_key(|end| end.1.1);
    let tops: Vec<i32> = ends.iter().map(|end| end.1.1).collect();
    let (left, top) = area.get_base_pixel();
    for ((who, (x, _)), y) in ends.iter().zip(spaced(&tops, 17)) {
        area.draw_text(
            who,
            &words(15, colour(who), HPos::Left),
            (x - left + 8, y - top),
        )?;
    }
    Ok(())
}

/// Sorted places moved as little as needed to leave `gap` between them, each group
/// about the middle of those that it holds.
fn spaced(places: &[i32], gap: i32) -> Vec<i32> {
    let mut groups: Vec<(i32, i32)> = Vec::new();
    for &place in places {
        // Sum of what its members want for their first one, and their number.
        let mut group = (place, 1);
        while let Some(&(sum, count)) = groups.last() {
            if sum / count + count * gap <= group.0 / group.1 {
                break;
            }
            groups.pop();
            group = (sum + group.0 - group.1 * count * gap, count + group.1);
        }
        groups.push(group);
    }
    groups
        .iter()
        .flat_map(|&(sum, count)| (0..count).map(move |nth| sum / count + nth * gap))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of WCAG 2.
    fn luminance(RGBColor(red, green, blue): RGBColor) -> f64 {
        let linear = |channel: u8| match f64::from(channel) / 255.0 {
            low @ ..=0.03928 => low / 12.92,
            high => ((high + 0.055) / 1.055).powf(2.4),
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    #[test]
    fn colours_stand_out_on_white_and_on_dark() {
        let dark = luminance(RGBColor(13, 17, 23));
        for (who, colour) in COLOURS {
            let own = luminance(colour);
            let (on_white, on_dark) = (1.05 / (own + 0.05), (own + 0.05) / (dark + 0.05));
            assert!(
                on_white >= 3.0 && on_dark >= 3.0,
                "{who}: {on_white:.2} and {on_dark:.2}"
            );
        }
    }

    #[test]
    fn names_are_spaced_about_their_middle() {
        assert_eq!(spaced(&[10, 100], 17), [10, 100]);
        assert_eq!(spaced(&[50, 50], 10), [45, 55]);
        assert_eq!(spaced(&[50, 50, 51], 10), [40, 50, 60]);
        assert_eq!(spaced(&[0, 45, 50, 55], 10), [0, 40, 50, 60]);
        assert_eq!(spaced(&[], 10), [0i32; 0]);
    }
}
