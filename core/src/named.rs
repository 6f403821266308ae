//! Enums whose variants have names that users see, a row a variant.

/// Makes the enum, with all variants in a constant, their names and numbers, and the way
/// back from either.
macro_rules! named {
    ($(#[$meta:meta])* $Type:ident [$count:literal] {
        $($(#[doc = $doc:literal])* $Variant:ident = $number:literal, $name:literal;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $Type {
            $($(#[doc = $doc])* $Variant = $number,)*
        }

        impl $Type {
            /// All of them, in this order.
            pub const ALL: [$Type; $count] = [$($Type::$Variant),*];

            /// The name that users see.
            pub const fn name(self) -> &'static str {
                match self {
                    $($Type::$Variant => $name,)*
                }
            }

            /// The name as a C string.
            pub const fn c_name(self) -> &'static core::ffi::CStr {
                let name = match self {
                    $($Type::$Variant => concat!($name, "\0"),)*
                };
                match core::ffi::CStr::from_bytes_until_nul(name.as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                }
            }

            /// The one of this number.
            pub const fn from_number(number: u8) -> Option<$Type> {
                match number {
                    $($number => Some($Type::$Variant),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use named;
