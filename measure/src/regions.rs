//! Tables inside a document that people write: only marked regions are replaced.
//!
//! A region stands between `<!-- OWNER: NAME -->` and `<!-- end of OWNER: NAME -->`.
//! Promises: everything outside of the regions that were measured stays, byte for byte; a
//! region that is not there yet goes to the end.

/// The document with these regions (name, text) brought up to date.
///
/// # Errors
/// A region that begins and does not end.
pub fn update(
    document: &str,
    owner: &str,
    regions: &[(&'static str, String)],
) -> Result<String, String> {
    let mut text = document.to_owned();
    for (name, body) in regions {
        let (begin, end) = (
            format!("<!-- {owner}: {name} -->"),
            format!("<!-- end of {owner}: {name} -->"),
        );
        let fresh = format!("{begin}\n\n{}\n\n{end}", body.trim());
        text = match text.split_once(&begin) {
            None if text.is_empty() => format!("{fresh}\n"),
            None => format!("{}\n\n{fresh}\n", text.trim_end()),
            Some((before, rest)) => {
                let (_, after) = rest.split_once(&end).ok_or_else(|| format!("no {end}"))?;
                format!("{before}{fresh}{after}")
            }
        };
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: &str = "ownpool bench";

    #[test]
    fn only_its_own_region_changes() {
        let new = [("speed", String::from("new\n"))];
        let page = update("# Page\n", OWNER, &new).unwrap();
        assert_eq!(
            page,
            "# Page\n\n<!-- ownpool bench: speed -->\n\nnew\n\n<!-- end of ownpool bench: speed -->\n"
        );
        let more = format!("{page}\nafter\n");
        let newer = update(&more, OWNER, &[("speed", String::from("newer"))]).unwrap();
        assert_eq!(newer, more.replace("new", "newer"));
        assert_eq!(update(&newer, OWNER, &new).unwrap(), more);
        assert!(update("<!-- ownpool bench: speed -->", OWNER, &new).is_err());
        assert_eq!(
            update("", OWNER, &new).unwrap(),
            page.replace("# Page\n\n", "")
        );
    }
}
