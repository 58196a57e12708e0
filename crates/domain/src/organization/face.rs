//! How an organization shows itself to its customers.

use std::fmt;
use std::str::FromStr;

use crate::text::{Email, Line, Name, Url};

/// How an organization shows itself to its customers, and where it is reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, rename_all = "camelCase"))]
pub struct Face {
    /// The name that customers know; the organization's own where there is none.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub display_name: Option<Name>,
    /// An image, of an https address.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub logo_url: Option<Url>,
    /// What buttons are filled with.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub accent_color: Option<Color>,
    /// Where customers write to.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub support_email: Option<Email>,
    /// Where customers call.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub support_phone: Option<Line>,
    /// The organization's terms of business, of an https address.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub terms_url: Option<Url>,
    /// What it does with personal data, of an https address.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub privacy_url: Option<Url>,
    /// Where the organization itself is told what needs its attention.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub notify_email: Option<Email>,
}

/// A text is no color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a color such as #0b57a4")]
pub struct ColorError;

/// A color of sRGB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct Color {
    red: u8,
    green: u8,
    blue: u8,
}

impl Color {
    /// No light.
    pub const BLACK: Self = Self {
        red: 0,
        green: 0,
        blue: 0,
    };
    /// All light.
    pub const WHITE: Self = Self {
        red: 0xff,
        green: 0xff,
        blue: 0xff,
    };

    /// Six lower case hexadecimal digits.
    #[must_use]
    pub fn digits(self) -> String {
        format!("{:02x}{:02x}{:02x}", self.red, self.green, self.blue)
    }

    /// The relative luminance, in millionths: 0 of black, 1,000,000 of white.
    /// <https://www.w3.org/TR/WCAG22/#dfn-relative-luminance>
    #[must_use]
    pub fn luminance(self) -> u32 {
        let linear = |channel: u8| {
            LINEAR
                .get(usize::from(channel))
                .copied()
                .unwrap_or_default()
        };
        let weighted = |weight: u64, channel: u8| weight.saturating_mul(u64::from(linear(channel)));
        let sum = weighted(2_126, self.red)
            .saturating_add(weighted(7_152, self.green))
            .saturating_add(weighted(722, self.blue));
        u32::try_from(sum.div_euclid(10_000)).unwrap_or(u32::MAX)
    }

    /// Black or white, whichever is read more easily on this color: the one with the higher contrast
    /// ratio, which is never below 4.58 to 1. <https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio>
    #[must_use]
    pub fn ink(self) -> Self {
        // (L + 0.05) / 0.05 of black against 1.05 / (L + 0.05) of white, in millionths.
        let lifted = u64::from(self.luminance()).saturating_add(50_000);
        if lifted.saturating_mul(lifted) > 1_050_000 * 50_000 {
            Self::BLACK
        } else {
            Self::WHITE
        }
    }
}

impl FromStr for Color {
    type Err = ColorError;

    fn from_str(text: &str) -> Result<Self, ColorError> {
        let digits = text.trim().strip_prefix('#').ok_or(ColorError)?;
        let is_hex = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex {
            return Err(ColorError);
        }
        let channel = |at: usize| {
            let pair = digits.get(at..at.saturating_add(2)).ok_or(ColorError)?;
            u8::from_str_radix(pair, 16).map_err(|_| ColorError)
        };
        Ok(Self {
            red: channel(0)?,
            green: channel(2)?,
            blue: channel(4)?,
        })
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.digits())
    }
}

impl TryFrom<String> for Color {
    type Error = ColorError;

    fn try_from(text: String) -> Result<Self, ColorError> {
        text.parse()
    }
}

impl From<Color> for String {
    fn from(color: Color) -> Self {
        color.to_string()
    }
}

/// The light of a channel's value, in millionths: `c / 12.92` up to 0.04045, else
/// `((c + 0.055) / 1.055) ^ 2.4`, of `c` = value / 255. Written out, since money is not the only thing that
/// is worse for floating points: the same color is to have the same ink everywhere.
const LINEAR: [u32; 256] = [
    0, 304, 607, 911, 1_214, 1_518, 1_821, 2_125, 2_428, 2_732, 3_035, 3_347, 3_677, 4_025, 4_391,
    4_777, 5_182, 5_605, 6_049, 6_512, 6_995, 7_499, 8_023, 8_568, 9_134, 9_721, 10_330, 10_960,
    11_612, 12_286, 12_983, 13_702, 14_444, 15_209, 15_996, 16_807, 17_642, 18_500, 19_382, 20_289,
    21_219, 22_174, 23_153, 24_158, 25_187, 26_241, 27_321, 28_426, 29_557, 30_713, 31_896, 33_105,
    34_340, 35_601, 36_889, 38_204, 39_546, 40_915, 42_311, 43_735, 45_186, 46_665, 48_172, 49_707,
    51_269, 52_861, 54_480, 56_128, 57_805, 59_511, 61_246, 63_010, 64_803, 66_626, 68_478, 70_360,
    72_272, 74_214, 76_185, 78_187, 80_220, 82_283, 84_376, 86_500, 88_656, 90_842, 93_059, 95_307,
    97_587, 99_899, 102_242, 104_616, 107_023, 109_462, 111_932, 114_435, 116_971, 119_538,
    122_139, 124_772, 127_438, 130_136, 132_868, 135_633, 138_432, 141_263, 144_128, 147_027,
    149_960, 152_926, 155_926, 158_961, 162_029, 165_132, 168_269, 171_441, 174_647, 177_888,
    181_164, 184_475, 187_821, 191_202, 194_618, 198_069, 201_556, 205_079, 208_637, 212_231,
    215_861, 219_526, 223_228, 226_966, 230_740, 234_551, 238_398, 242_281, 246_201, 250_158,
    254_152, 258_183, 262_251, 266_356, 270_498, 274_677, 278_894, 283_149, 287_441, 291_771,
    296_138, 300_544, 304_987, 309_469, 313_989, 318_547, 323_143, 327_778, 332_452, 337_164,
    341_914, 346_704, 351_533, 356_400, 361_307, 366_253, 371_238, 376_262, 381_326, 386_429,
    391_572, 396_755, 401_978, 407_240, 412_543, 417_885, 423_268, 428_690, 434_154, 439_657,
    445_201, 450_786, 456_411, 462_077, 467_784, 473_531, 479_320, 485_150, 491_021, 496_933,
    502_886, 508_881, 514_918, 520_996, 527_115, 533_276, 539_479, 545_724, 552_011, 558_340,
    564_712, 571_125, 577_580, 584_078, 590_619, 597_202, 603_827, 610_496, 617_207, 623_960,
    630_757, 637_597, 644_480, 651_406, 658_375, 665_387, 672_443, 679_542, 686_685, 693_872,
    701_102, 708_376, 715_694, 723_055, 730_461, 737_910, 745_404, 752_942, 760_525, 768_151,
    775_822, 783_538, 791_298, 799_103, 806_952, 814_847, 822_786, 830_770, 838_799, 846_873,
    854_993, 863_157, 871_367, 879_622, 887_923, 896_269, 904_661, 913_099, 921_582, 930_111,
    938_686, 947_307, 955_973, 964_686, 973_445, 982_251, 991_102, 1_000_000,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn color(text: &str) -> Color {
        text.parse().unwrap()
    }

    #[test]
    fn colors_are_six_digits() {
        for (text, shown) in [("#0b57a4", "#0b57a4"), (" #FFcc00 ", "#ffcc00")] {
            assert_eq!(color(text).to_string(), shown);
        }
        for bad in [
            "", "#", "0b57a4", "#0b57a", "#0b57a44", "#0b57ag", "#+b57a4", "#é57a4", "red",
        ] {
            assert_eq!(bad.parse::<Color>(), Err(ColorError), "{bad}");
        }
    }

    /// Luminances as the definition gives them, to the millionth, and the ratio of the ink in hundredths.
    #[test]
    fn the_ink_is_the_one_that_is_read_more_easily() {
        for (text, luminance, ink, ratio) in [
            ("#000000", 0, "#ffffff", 2_100),
            ("#ffffff", 1_000_000, "#000000", 2_100),
            ("#ff0000", 212_600, "#000000", 525),
            ("#00ff00", 715_200, "#000000", 1_530),
            ("#0000ff", 72_200, "#ffffff", 859),
            ("#ffcc00", 644_457, "#000000", 1_388),
            ("#0b57a4", 95_678, "#ffffff", 720),
            ("#808080", 215_861, "#000000", 531),
            ("#767676", 181_164, "#000000", 462),
            ("#757575", 177_888, "#ffffff", 460),
        ] {
            let color = color(text);
            assert!(
                color.luminance().abs_diff(luminance) <= 1,
                "{text}: {}",
                color.luminance()
            );
            assert_eq!(color.ink().to_string(), ink, "{text}");
            let (one, other) = (color.luminance(), color.ink().luminance());
            let found = (one.max(other) + 50_000) * 100 / (one.min(other) + 50_000);
            assert!(found.abs_diff(ratio) <= 1, "{text}: {found}");
        }
    }

    /// Whatever an organization chooses, its buttons can be read: 4.5 to 1, as WCAG 2.2 asks of text.
    #[test]
    fn every_color_has_an_ink() {
        let steps = || (0..=255_u8).step_by(5);
        for (red, green, blue) in steps().flat_map(|red| {
            steps().flat_map(move |green| steps().map(move |blue| (red, green, blue)))
        }) {
            let color = Color { red, green, blue };
            let (one, other) = (color.luminance(), color.ink().luminance());
            let (light, dark) = (one.max(other) + 50_000, one.min(other) + 50_000);
            assert!(light * 2 >= dark * 9, "{color}: {light} on {dark}");
        }
    }

    #[test]
    fn light_grows_with_the_value() {
        assert!(LINEAR.is_sorted_by(|one, next| one < next));
        assert_eq!((LINEAR[0], LINEAR[255]), (0, 1_000_000));
    }
}
