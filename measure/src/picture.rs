//! A picture as a text of SVG.

use plotters::coord::Shift;
use plotters::prelude::*;

/// Where is drawn.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What drawing comes to.
pub type Drawn = Result<(), Box<dyn core::error::Error>>;

/// A picture of this size, drawn by `draw`.
///
/// # Errors
/// What the drawing library could not do.
pub fn svg(size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String, String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    let failed = |error: &dyn core::fmt::Display| format!("cannot draw: {error}");
    draw(&area).map_err(|error| failed(&error))?;
    area.present().map_err(|error| failed(&error))?;
    drop(area);
    Ok(text)
}
