//! The picture: on the left reads per second against threads, on the right a small integer's time.
//!
//! Promises: logarithmic scales, said so at the axes, and the rows of the tables.

use crate::measured::{Figures, Measured};
use ownpool_measure::picture::{self, Area, Drawn};
use ownpool_measure::samples::extremes;
use plotters::prelude::*;

const SIZE: (u32, u32) = (1200, 560);
const FONT: &str = "sans-serif";
/// Ten colours that differ also for readers who do not tell red from green.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 0, 0),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 114, 178),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
    RGBColor(213, 94, 0),
    RGBColor(127, 127, 127),
    RGBColor(0, 158, 115),
    RGBColor(204, 204, 204),
];

/// The picture as SVG.
pub(crate) fn svg(measured: &Measured) -> Result<String, String> {
    picture::svg(SIZE, |area| {
        area.fill(&WHITE)?;
        let (left, right) = area.split_horizontally(690);
        pools(&left, measured)?;
        small(&right, measured)
    })
}

fn pools(area: &Area<'_>, measured: &Measured) -> Drawn {
    let rates = |row: &Figures| {
        row.cells
            .clone()
            .map(|cells| cells[..measured.threads.len()].to_vec())
    };
    let all = measured.pools.iter().filter_map(|row| rates(row).ok());
    let (lowest, highest) = extremes(all.flatten());
    // A power of ten: the axis has no marks below the first of these that it meets.
    let low = 10_f64.powf(lowest.log10().floor());
    let high = highest * 1.5;
    let most = measured
        .threads
        .last()
        .map_or(1.0, |&threads| threads as f64);
    // Room at the right for the legend: its width is about that of the plot's last two fifths.
    let mut chart = ChartBuilder::on(area)
        .caption("Reads of 64 bytes", (FONT, 20))
        .margin(10)
        .margin_right(230)
        .x_label_area_size(45)
        .y_label_area_size(75)
        .build_cartesian_2d(
            (0.93..most * 1.08).log_scale().base(2.0),
            (low..high).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("threads (logarithmic)")
        .y_desc("reads per second, all threads (logarithmic)")
        .x_label_formatter(&|threads| format!("{threads:.0}"))
        .y_label_formatter(&|rate| axis_label(*rate))
        .y_labels(30)
        .light_line_style(WHITE)
        .axis_desc_style((FONT, 15))
        .label_style((FONT, 13))
        .draw()?;
    let mut legend = 45;
    for (row, colour) in measured.pools.iter().zip(COLOURS) {
        let Ok(rates) = rates(row) else { continue };
        let threads = measured.threads.iter().map(|&threads| threads as f64);
        let points: Vec<_> = threads.zip(rates).collect();
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2));
        chart.draw_series(line)?;
        let dot = |&point| Circle::new(point, 4, colour.filled());
        chart.draw_series(points.iter().map(dot))?;
        let key = [(470, legend), (490, legend + 4)];
        area.draw(&Rectangle::new(key, colour.filled()))?;
        area.draw(&Text::new(row.title(), (497, legend - 5), (FONT, 14)))?;
        legend += 22;
    }
    Ok(())
}

/// A label for 1, 2 and 5 of each power of ten; the others would run into each other.
fn axis_label(rate: f64) -> String {
    let leading = rate / 10_f64.powf((rate * 1.001).log10().floor());
    let round = |mark: f64| (leading / mark - 1.0).abs() < 1e-6;
    match rate {
        _ if ![1.0, 2.0, 5.0].into_iter().any(round) => String::new(),
        1e6.. => format!("{:.0} M", rate / 1e6),
        _ => format!("{:.0} K", rate / 1e3),
    }
}

fn small(area: &Area<'_>, measured: &Measured) -> Drawn {
    let rows: Vec<_> = measured
        .ints
        .iter()
        .filter_map(|row| Some((row, row.cells.as_ref().ok()?)))
        .collect();
    let ns = |cycles: f64| cycles / measured.ticks_per_ns / 1e3;
    let all = rows
        .iter()
        .flat_map(|(_, cells)| cells.iter().map(|&cycles| ns(cycles)));
    let (lowest, highest) = extremes(all);
    let (low, high) = (lowest / 2.0, highest * 2.0);
    let height = rows.len() as f64;
    let mut chart = ChartBuilder::on(area)
        .caption("One small integer", (FONT, 20))
        .margin(10)
        .x_label_area_size(45)
        .build_cartesian_2d((low..high).log_scale(), height..0.0)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_desc("ns a call (logarithmic): 4 bytes dark, 8 bytes light")
        .x_label_formatter(&|ns| format!("{ns:.0}"))
        .light_line_style(WHITE)
        .axis_desc_style((FONT, 15))
        .label_style((FONT, 13))
        .draw()?;
    for (i, (row, cells)) in rows.into_iter().enumerate() {
        let top = i as f64;
        for (size, &cycles) in cells.iter().enumerate() {
            let colour = [RGBColor(0, 114, 178), RGBColor(86, 180, 233)][size];
            let top = top + 0.45 + 0.22 * size as f64;
            let bar = [(low, top), (ns(cycles), top + 0.2)];
            chart.draw_series([Rectangle::new(bar, colour.filled())])?;
        }
        let times: Vec<_> = cells
            .iter()
            .map(|&cycles| format!("{:.1}", ns(cycles)))
            .collect();
        let label = format!("{}: {} ns", row.title(), times.join(" and "));
        chart.draw_series([Text::new(label, (low * 1.05, top + 0.12), (FONT, 14))])?;
    }
    Ok(())
}
