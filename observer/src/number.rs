//! Numbers as the rows of the log show them. A timepoint consists mostly of numbers, and
//! `core::fmt` takes five times as long for one with two decimals.

/// Appends a whole number.
pub fn push(out: &mut Vec<u8>, number: u64) {
    // The largest has twenty digits.
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        // A remainder of 10 fits in a byte.
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a number with two decimals, as C's `%.2f` does except for ties. Negative numbers and NaN
/// become 0.00, and larger numbers than 10^17 become 10^17.
pub fn push_decimal(out: &mut Vec<u8>, number: f64) {
    // A cast of NaN is 0, and a number that does not fit becomes the nearest that does.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let hundredths = ((number * 100.0).round() as u64).min(10_u64.pow(19));
    push(out, hundredths / 100);
    let rest = (hundredths % 100) as u8;
    out.extend_from_slice(&[b'.', b'0' + rest / 10, b'0' + rest % 10]);
}

/// A count as a floating-point number. Beyond 2^53 the last digits are lost, which no rate shows.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimal(number: f64) -> String {
        let mut out = Vec::new();
        push_decimal(&mut out, number);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_that_are_no_share_are_zero() {
        for number in [f64::NAN, -0.0, -1.0, f64::NEG_INFINITY, 0.004] {
            assert_eq!(decimal(number), "0.00");
        }
        assert_eq!(decimal(f64::INFINITY), "100000000000000000.00");
    }

    proptest! {
        #[test]
        fn whole_numbers_are_those_of_the_standard_library(number: u64) {
            let mut out = Vec::new();
            push(&mut out, number);
            prop_assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }

        #[test]
        fn decimals_are_those_of_the_standard_library_but_for_ties(number in 0.0..1e12_f64) {
            let read: f64 = decimal(number).parse().unwrap();
            prop_assert!((read - number).abs() <= 0.005_000_1 + number * 1e-15, "{} is {}", number, read);
        }
    }
}
