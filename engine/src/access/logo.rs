//! Logo of an app, for its checkout pages and mails.
//!
//! Promises: an uploaded picture is decoded and encoded again as a small PNG, so that only pixels
//! are served: no metadata, no script, no second format in the same bytes. A file that would need
//! much memory is refused by its header, and one file is decoded at a time.
//!
//! Leaves out: animations, of which the first picture is used, and colour profiles.

use std::io::Cursor;
use std::sync::Arc;

use base16ct::lower::encode_string;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::imageops::{self, FilterType as Sampling};
use image::{
    DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits, Rgba, RgbaImage,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use super::branding::Picture;
use super::error::AccessError;
use switchyard_core::ids::AppId;
use switchyard_core::limits::{
    LOGO_BYTES, LOGO_FILE_BYTES, LOGO_HEIGHT, LOGO_MEMORY, LOGO_SIDE, LOGO_WIDTH,
};

/// Logo as it is stored and served: a picture of at most [`LOGO_BYTES`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Logo(Arc<Picture>);

/// Reason for which a file cannot become a logo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogoError {
    #[error("is empty: send a PNG, JPEG or WebP file")]
    Empty,
    #[error("is larger than {} KiB", LOGO_FILE_BYTES / 1024)]
    FileTooLarge,
    #[error("is not a PNG, JPEG or WebP file")]
    Format,
    #[error("is wider or higher than {LOGO_SIDE} pixels")]
    TooManyPixels,
    #[error("is damaged or incomplete")]
    Damaged,
}

impl LogoError {
    pub const ALL: [Self; 5] = [
        Self::Empty,
        Self::FileTooLarge,
        Self::Format,
        Self::TooManyPixels,
        Self::Damaged,
    ];
}

impl From<LogoError> for AccessError {
    fn from(error: LogoError) -> Self {
        Self::invalid("logo", error.to_string())
    }
}

impl Logo {
    /// Decodes a PNG, JPEG or WebP file and encodes it as PNG, reduced to [`LOGO_WIDTH`] by
    /// [`LOGO_HEIGHT`] pixels, and further until it has at most [`LOGO_BYTES`].
    ///
    /// # Errors
    /// When the file is no such picture, or exceeds a limit.
    pub async fn from_file(file: Vec<u8>) -> Result<Self, LogoError> {
        // A semaphore that is never closed always has a permit in the end.
        let _turn = DECODING.acquire().await.map_err(|_| LogoError::Damaged)?;
        let encoding = tokio::task::spawn_blocking(move || encoded(&file));
        // A panic of the decoder means a malformed file.
        let bytes = encoding.await.map_err(|_| LogoError::Damaged)??;
        let media_type = "image/png";
        Ok(Self(Arc::new(Picture { media_type, bytes })))
    }

    pub fn media_type(&self) -> &'static str {
        self.0.media_type
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// `data:image/png;base64,…`
    pub fn data_url(&self) -> String {
        let data = STANDARD.encode(&self.0.bytes);
        format!("data:{};base64,{data}", self.0.media_type)
    }

    /// Path on the server. It changes with the picture, so that caches may keep it for ever.
    pub fn path(&self, app: AppId) -> String {
        format!("/icons/logos/{app}-{}", self.mark())
    }

    /// Start of the SHA-256 of the picture, in hexadecimal digits.
    pub fn mark(&self) -> String {
        encode_string(&Sha256::digest(&self.0.bytes)[..8])
    }
}

impl TryFrom<String> for Logo {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let picture = Picture::from_data_url(&text).ok_or("a stored logo is not a picture")?;
        Ok(Self(Arc::new(picture)))
    }
}

impl From<Logo> for String {
    fn from(logo: Logo) -> Self {
        logo.data_url()
    }
}

fn encoded(file: &[u8]) -> Result<Vec<u8>, LogoError> {
    let picture = decoded(file)?;
    let mut size = fitting(picture.dimensions());
    loop {
        let png = encode(&scaled(&picture, size))?;
        if png.len() <= LOGO_BYTES || size == (1, 1) {
            return Ok(png);
        }
        size = ((size.0 * 3 / 4).max(1), (size.1 * 3 / 4).max(1));
    }
}

/// The picture of a file, with its colours multiplied by their opacity.
fn decoded(file: &[u8]) -> Result<RgbaImage, LogoError> {
    if file.is_empty() {
        return Err(LogoError::Empty);
    }
    if file.len() > LOGO_FILE_BYTES {
        return Err(LogoError::FileTooLarge);
    }
    let format = match Picture::media_type_of(file) {
        Some("image/png") => ImageFormat::Png,
        Some("image/jpeg") if is_whole_jpeg(file) => ImageFormat::Jpeg,
        Some("image/jpeg") => return Err(LogoError::Damaged),
        Some("image/webp") => ImageFormat::WebP,
        _ => return Err(LogoError::Format),
    };
    let mut limits = Limits::no_limits();
    limits.max_image_width = Some(LOGO_SIDE);
    limits.max_image_height = Some(LOGO_SIDE);
    limits.max_alloc = Some(LOGO_MEMORY);
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(problem)?;
    let orientation = decoder.orientation().map_err(problem)?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(problem)?;
    picture.apply_orientation(orientation);
    let mut picture = picture.into_rgba8();
    for Rgba([colours @ .., opacity]) in picture.pixels_mut() {
        for colour in colours {
            *colour = u8::try_from(u32::from(*colour) * u32::from(*opacity) / 255).unwrap_or(255);
        }
    }
    Ok(picture)
}

fn problem(error: ImageError) -> LogoError {
    match error {
        ImageError::Limits(_) => LogoError::TooManyPixels,
        _ => LogoError::Damaged,
    }
}

/// Whether the last scan of a JPEG file has an end. The decoder fills the rest of a picture that
/// has none with grey.
fn is_whole_jpeg(file: &[u8]) -> bool {
    let mut marks = file.windows(2);
    let scan = marks.rposition(|mark| mark == [0xff, 0xda]);
    let rest = scan.and_then(|at| file.get(at..)).unwrap_or_default();
    rest.windows(2).any(|mark| mark == [0xff, 0xd9])
}

/// The largest size in which a picture of this size fits a logo. Small pictures keep theirs.
fn fitting((width, height): (u32, u32)) -> (u32, u32) {
    let (wide, high) = (width * LOGO_HEIGHT, height * LOGO_WIDTH);
    match (width <= LOGO_WIDTH && height <= LOGO_HEIGHT, wide >= high) {
        (true, _) => (width, height),
        (false, true) => (LOGO_WIDTH, (height * LOGO_WIDTH / width).max(1)),
        (false, false) => ((width * LOGO_HEIGHT / height).max(1), LOGO_HEIGHT),
    }
}

/// The picture in this size, with its colours divided by their opacity again.
fn scaled(picture: &RgbaImage, (width, height): (u32, u32)) -> RgbaImage {
    let mut small = match picture.dimensions() == (width, height) {
        true => picture.clone(),
        false => imageops::resize(picture, width, height, Sampling::Lanczos3),
    };
    for Rgba([colours @ .., opacity]) in small.pixels_mut() {
        for colour in colours {
            let full = (u32::from(*colour) * 255).checked_div(u32::from(*opacity));
            *colour = u8::try_from(full.unwrap_or(0)).unwrap_or(255);
        }
    }
    small
}

fn encode(picture: &RgbaImage) -> Result<Vec<u8>, LogoError> {
    let mut png = Vec::new();
    let encoder =
        PngEncoder::new_with_quality(&mut png, CompressionType::Best, FilterType::Adaptive);
    let is_opaque = picture.pixels().all(|Rgba([.., opacity])| *opacity == 255);
    let picture = DynamicImage::from(picture.clone());
    let written = match is_opaque {
        true => picture.into_rgb8().write_with_encoder(encoder),
        false => picture.into_rgba8().write_with_encoder(encoder),
    };
    written.map_err(|_| LogoError::Damaged)?;
    Ok(png)
}

/// Turn of a file to be decoded: [`LOGO_MEMORY`] is for one at a time.
static DECODING: Semaphore = Semaphore::const_new(1);

#[cfg(test)]
mod tests {
    use super::*;
    use image::codecs::jpeg::JpegEncoder;
    use image::codecs::webp::WebPEncoder;
    use image::{ImageEncoder as _, RgbImage};

    /// A picture of a size, in a format.
    fn file(format: ImageFormat, width: u32, height: u32) -> Vec<u8> {
        let mut file = Vec::new();
        let picture = RgbImage::from_fn(width, height, |x, y| {
            image::Rgb([(x % 251) as u8, (y % 241) as u8, 40])
        });
        let (bytes, colour) = (picture.as_raw(), image::ExtendedColorType::Rgb8);
        match format {
            ImageFormat::Jpeg => {
                JpegEncoder::new(&mut file).write_image(bytes, width, height, colour)
            }
            ImageFormat::WebP => {
                WebPEncoder::new_lossless(&mut file).write_image(bytes, width, height, colour)
            }
            _ => PngEncoder::new(&mut file).write_image(bytes, width, height, colour),
        }
        .unwrap();
        file
    }

    fn opened(logo: &Logo) -> RgbaImage {
        assert_eq!(logo.media_type(), "image/png");
        assert!(logo.bytes().len() <= LOGO_BYTES);
        let format = ImageFormat::Png;
        let picture = image::load_from_memory_with_format(logo.bytes(), format);
        picture.unwrap().into_rgba8()
    }

    #[tokio::test]
    async fn each_allowed_format_becomes_a_small_png() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            for (given, expected) in [
                ((40, 30), (40, 30)),
                ((1_000, 400), (250, 100)),
                ((2_500, 100), (320, 12)),
                ((100, 2_500), (4, 100)),
                ((2_500, 1), (320, 1)),
            ] {
                let file = file(format, given.0, given.1);
                let logo = Logo::from_file(file).await.unwrap();
                assert_eq!(opened(&logo).dimensions(), expected, "{format:?} {given:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_picture_that_does_not_compress_becomes_smaller_until_it_fits() {
        let mut seed = 1_u32;
        let noise = RgbImage::from_fn(320, 100, |_, _| {
            let mut next = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                seed.to_be_bytes()[0]
            };
            image::Rgb([next(), next(), next()])
        });
        let mut file = Vec::new();
        noise
            .write_with_encoder(PngEncoder::new(&mut file))
            .unwrap();
        let (width, height) = opened(&Logo::from_file(file).await.unwrap()).dimensions();
        assert!(width < 320 && width > 80 && height < 100, "{width}");
    }

    #[tokio::test]
    async fn other_files_are_refused_with_their_reason() {
        let cut = |format| {
            let mut whole = file(format, 300, 300);
            whole.truncate(whole.len() / 2);
            whole
        };
        let svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";
        let mut large = file(ImageFormat::Png, 10, 10);
        large.resize(LOGO_FILE_BYTES + 1, 0);
        for (name, file, reason) in [
            ("empty", Vec::new(), LogoError::Empty),
            ("svg", svg.to_vec(), LogoError::Format),
            ("gif", b"GIF89a\x01\x00\x01\x00".to_vec(), LogoError::Format),
            ("text", b"a logo".to_vec(), LogoError::Format),
            ("large", large, LogoError::FileTooLarge),
            ("half a PNG", cut(ImageFormat::Png), LogoError::Damaged),
            ("half a JPEG", cut(ImageFormat::Jpeg), LogoError::Damaged),
            ("half a WebP", cut(ImageFormat::WebP), LogoError::Damaged),
            (
                "start of a PNG",
                b"\x89PNG\r\n\x1a\n".to_vec(),
                LogoError::Damaged,
            ),
            (
                "wide",
                file(ImageFormat::Jpeg, LOGO_SIDE + 1, 1),
                LogoError::TooManyPixels,
            ),
            (
                "high",
                file(ImageFormat::WebP, 1, LOGO_SIDE + 1),
                LogoError::TooManyPixels,
            ),
        ] {
            assert_eq!(Logo::from_file(file).await.unwrap_err(), reason, "{name}");
        }
    }

    #[tokio::test]
    async fn a_decompression_bomb_is_refused_by_its_header() {
        // 50,000 × 50,000 pixels announced, 10 GB decoded.
        let mut bomb = file(ImageFormat::Png, 10, 10);
        bomb[16..20].copy_from_slice(&50_000_u32.to_be_bytes());
        bomb[20..24].copy_from_slice(&50_000_u32.to_be_bytes());
        let sum = crc(&bomb[12..29]);
        bomb[29..33].copy_from_slice(&sum.to_be_bytes());
        let refused = Logo::from_file(bomb).await.unwrap_err();
        assert_eq!(refused, LogoError::TooManyPixels);
    }

    /// CRC-32 of a PNG chunk.
    fn crc(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| match crc & 1 {
                0 => crc >> 1,
                _ => (crc >> 1) ^ 0xedb8_8320,
            })
        })
    }

    #[tokio::test]
    async fn nothing_of_the_file_but_its_pixels_is_kept() {
        let mut file = file(ImageFormat::Png, 20, 20);
        file.extend_from_slice(b"<script>alert(1)</script>");
        let logo = Logo::from_file(file.clone()).await.unwrap();
        assert!(!logo.bytes().windows(8).any(|part| part == b"<script>"));
        let stored = serde_json::to_string(&logo).unwrap();
        assert_eq!(serde_json::from_str::<Logo>(&stored).unwrap(), logo);
        assert_eq!(
            Logo::from_file(file).await.unwrap(),
            logo,
            "the same address"
        );
    }

    #[tokio::test]
    async fn the_colour_of_transparent_pixels_does_not_darken_an_edge() {
        let disc = RgbaImage::from_fn(640, 200, |x, _| match x < 321 {
            true => Rgba([250, 200, 10, 255]),
            false => Rgba([0, 0, 0, 0]),
        });
        let mut file = Vec::new();
        disc.write_with_encoder(PngEncoder::new(&mut file)).unwrap();
        let small = opened(&Logo::from_file(file).await.unwrap());
        let edge = small.pixels().filter(|pixel| (32..224).contains(&pixel[3]));
        let darkest = edge.map(|pixel| pixel[0]).min();
        assert!(darkest.is_some_and(|red| red > 230), "{darkest:?}");
    }
}
