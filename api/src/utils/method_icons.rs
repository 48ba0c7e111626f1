//! Icons of methods that the operator supplies, in place of the drawn ones: files of one folder,
//! read when the server starts.
//!
//! `mtn_bj.svg` is the icon of that method. A name that lacks the last part of a code is that of a
//! brand: `mtn.png` of `mtn_bj` and `mtn_ci`, `mobi_cash.png` of `mobi_cash_ml`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use base16ct::lower::encode_string;
use sha2::{Digest as _, Sha256};
use switchyard_engine::access::Picture;

/// Bytes of one icon. A page may show twelve of them on a slow line.
const ICON_BYTES: usize = 20 * 1024;

/// The icons of one folder.
#[derive(Clone, Debug, Default)]
pub struct MethodIcons(BTreeMap<String, MethodIcon>);

/// One of them.
#[derive(Clone, Debug)]
pub struct MethodIcon {
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
    /// Changes with the picture: part of its address.
    pub mark: String,
}

impl MethodIcons {
    /// Reads a folder.
    ///
    /// # Errors
    /// When the folder cannot be read, or a file with the ending of a picture is none or is too
    /// large.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let mut icons = BTreeMap::new();
        let files = std::fs::read_dir(folder).with_context(|| {
            format!("service.icons: cannot read the folder {}", folder.display())
        })?;
        for file in files {
            let path = file?.path();
            let ending = path.extension().and_then(|ending| ending.to_str());
            let name = path.file_stem().and_then(|name| name.to_str());
            let (Some(name), Some("svg" | "png" | "jpg" | "jpeg" | "webp")) = (name, ending) else {
                continue;
            };
            let bytes = std::fs::read(&path)
                .with_context(|| format!("service.icons: cannot read {}", path.display()))?;
            let icon = MethodIcon::of(bytes)
                .with_context(|| format!("service.icons: {} cannot be used", path.display()))?;
            icons.insert(name.to_owned(), icon);
        }
        Ok(Self(icons))
    }

    /// The icon of the method with this code.
    pub fn of(&self, code: &str) -> Option<&MethodIcon> {
        let brand = || code.rsplit_once('_').map(|(brand, _)| brand);
        self.0.get(code).or_else(|| self.0.get(brand()?))
    }
}

impl MethodIcon {
    fn of(bytes: Vec<u8>) -> anyhow::Result<Self> {
        anyhow::ensure!(
            bytes.len() <= ICON_BYTES,
            "it has {} bytes, and at most {ICON_BYTES} are allowed",
            bytes.len()
        );
        let mark = encode_string(&Sha256::digest(&bytes)[..4]);
        let is_svg = std::str::from_utf8(&bytes).is_ok_and(|text| text.contains("<svg"));
        let (media_type, bytes) = match Picture::from_bytes(bytes.clone()) {
            Some(picture) => (picture.media_type, picture.bytes),
            // Pages load it as a picture, and its own answer forbids scripts: an SVG cannot run
            // one.
            None if is_svg => ("image/svg+xml", bytes),
            None => anyhow::bail!("it is not an SVG, PNG, JPEG or WebP"),
        };
        Ok(Self {
            media_type,
            bytes,
            mark,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_icon_counts_for_its_method_or_for_the_whole_brand() {
        let folder = tempfile::tempdir().unwrap();
        let put =
            |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        put("mtn.png", b"\x89PNG\r\n\x1a\n");
        put("mtn_gh.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>");
        put("mobi_cash.png", b"\x89PNG\r\n\x1a\n");
        put("e.png", b"\x89PNG\r\n\x1a\n");
        put("readme.txt", b"not an icon");
        let icons = MethodIcons::read(folder.path()).unwrap();
        assert_eq!(icons.of("mtn_bj").unwrap().media_type, "image/png");
        assert_eq!(icons.of("mtn_gh").unwrap().media_type, "image/svg+xml");
        assert!(icons.of("moov_bj").is_none() && icons.of("readme").is_none());
        assert!(icons.of("mobi_cash_ml").is_some());
        assert!(
            icons.of("e_money_sn").is_none(),
            "only its last part is left out"
        );
        put("moov.png", b"<html>");
        let said = format!("{:#}", MethodIcons::read(folder.path()).unwrap_err());
        assert!(
            said.contains("moov.png") && said.contains("not an SVG"),
            "{said}"
        );
    }
}
