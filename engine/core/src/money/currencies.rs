//! The table of currencies.
//!
//! Sources: codes and decimals from ISO 4217 (its active currencies; funds, metals and units of
//! account are left out); names from the Unicode CLDR 48 (English); symbols, their side and
//! separators from the same, with the code in place of a symbol that several currencies share or
//! that is little known abroad.

use super::currency::CurrencyInfo;

macro_rules! currencies {
    ($($code:ident $decimals:literal $side:ident $mark:literal $thousands:literal
       $symbol:literal $native:literal $subunit:literal $name:literal $plural:literal)*) => {
        &[$(CurrencyInfo {
            code: stringify!($code),
            name: $name,
            name_plural: $plural,
            symbol: $symbol,
            symbol_native: $native,
            subunit: $subunit,
            decimal_mark: $mark,
            thousands_separator: $thousands,
            symbol_first: matches!(Side::$side, Side::Before),
            decimals: $decimals,
            rounding: 0,
        }),*]
    };
}

/// Position of the symbol.
enum Side {
    Before,
    After,
}

/// In order of code: look-ups are binary searches. Code, decimals, side of the symbol, decimal
/// mark, thousands separator, symbol, symbol at home, subunit, name, plural.
pub(super) static CURRENCIES: &[CurrencyInfo] = currencies! {
    AED 2 Before "." "," "AED" "د.إ" "Fils" "United Arab Emirates Dirham" "UAE dirhams"
    AFN 2 Before "." "," "AFN" "؋" "Pul" "Afghan Afghani" "Afghan Afghanis"
    ALL 2 After  "," " " "ALL" "L" "Qindarka" "Albanian Lek" "Albanian lekë"
    AMD 2 After  "," " " "AMD" "֏" "Luma" "Armenian Dram" "Armenian drams"
    AOA 2 After  "," " " "Kz" "Kz" "Cêntimo" "Angolan Kwanza" "Angolan kwanzas"
    ARS 2 Before "," "." "AR$" "$" "Centavo" "Argentine Peso" "Argentine pesos"
    AUD 2 Before "." "," "A$" "$" "Cent" "Australian Dollar" "Australian dollars"
    AWG 2 Before "." "," "Afl." "Afl." "Cent" "Aruban Florin" "Aruban florin"
    AZN 2 After  "," "." "₼" "₼" "Qəpik" "Azerbaijani Manat" "Azerbaijani manats"
    BAM 2 After  "," "." "KM" "KM" "Fening" "Bosnia-Herzegovina Convertible Mark" "Bosnia-Herzegovina convertible marks"
    BBD 2 Before "." "," "Bds$" "$" "Cent" "Barbadian Dollar" "Barbadian dollars"
    BDT 2 Before "." "," "৳" "৳" "Poisha" "Bangladeshi Taka" "Bangladeshi takas"
    BHD 3 Before "." "," "BHD" "د.ب" "Fils" "Bahraini Dinar" "Bahraini dinars"
    BIF 0 Before "," " " "BIF" "FBu" "Centime" "Burundian Franc" "Burundian francs"
    BMD 2 Before "." "," "BD$" "$" "Cent" "Bermudian Dollar" "Bermudian dollars"
    BND 2 Before "." "," "B$" "$" "Sen" "Brunei Dollar" "Brunei dollars"
    BOB 2 Before "," "." "Bs" "Bs" "Centavo" "Bolivian Boliviano" "Bolivian bolivianos"
    BRL 2 Before "," "." "R$" "R$" "Centavo" "Brazilian Real" "Brazilian reals"
    BSD 2 Before "." "," "BSD" "$" "Cent" "Bahamian Dollar" "Bahamian dollars"
    BTN 2 Before "." "," "Nu." "Nu." "Chhertum" "Bhutanese Ngultrum" "Bhutanese ngultrums"
    BWP 2 Before "." "," "P" "P" "Thebe" "Botswanan Pula" "Botswanan pulas"
    BYN 2 After  "," " " "BYN" "Br" "Kopeck" "Belarusian Ruble" "Belarusian rubles"
    BZD 2 Before "." "," "BZ$" "$" "Cent" "Belize Dollar" "Belize dollars"
    CAD 2 Before "." "," "CA$" "$" "Cent" "Canadian Dollar" "Canadian dollars"
    CDF 2 Before "," " " "CDF" "FC" "Centime" "Congolese Franc" "Congolese francs"
    CHF 2 Before "." "'" "CHF" "CHF" "Centime" "Swiss Franc" "Swiss francs"
    CLP 0 Before "," "." "CL$" "$" "Centavo" "Chilean Peso" "Chilean pesos"
    CNY 2 Before "." "," "CN¥" "¥" "Fen" "Chinese Yuan" "Chinese yuan"
    COP 2 Before "," "." "CO$" "$" "Centavo" "Colombian Peso" "Colombian pesos"
    CRC 2 Before "," " " "₡" "₡" "Céntimo" "Costa Rican Colón" "Costa Rican colones"
    CUP 2 Before "." "," "CUP" "$" "Centavo" "Cuban Peso" "Cuban pesos"
    CVE 2 After  "," " " "CVE" "$" "Centavo" "Cape Verdean Escudo" "Cape Verdean escudos"
    CZK 2 After  "," " " "Kč" "Kč" "Haléř" "Czech Koruna" "Czech korunas"
    DJF 0 Before "," " " "DJF" "Fdj" "Centime" "Djiboutian Franc" "Djiboutian francs"
    DKK 2 After  "," "." "kr." "kr." "Øre" "Danish Krone" "Danish kroner"
    DOP 2 Before "." "," "RD$" "RD$" "Centavo" "Dominican Peso" "Dominican pesos"
    DZD 2 After  "," "." "DZD" "د.ج" "Centime" "Algerian Dinar" "Algerian dinars"
    EGP 2 Before "." "," "E£" "ج.م" "Piastre" "Egyptian Pound" "Egyptian pounds"
    ERN 2 Before "." "," "Nfk" "Nfk" "Cent" "Eritrean Nakfa" "Eritrean nakfas"
    ETB 2 Before "." "," "ETB" "ብር" "Santim" "Ethiopian Birr" "Ethiopian birrs"
    EUR 2 After  "," "." "€" "€" "Cent" "Euro" "euros"
    FJD 2 Before "." "," "FJ$" "$" "Cent" "Fijian Dollar" "Fijian dollars"
    FKP 2 Before "." "," "FK£" "£" "Penny" "Falkland Islands Pound" "Falkland Islands pounds"
    GBP 2 Before "." "," "£" "£" "Penny" "British Pound" "British pounds"
    GEL 2 After  "," " " "₾" "₾" "Tetri" "Georgian Lari" "Georgian laris"
    GHS 2 Before "." "," "GH₵" "₵" "Pesewa" "Ghanaian Cedi" "Ghanaian cedis"
    GIP 2 Before "." "," "GIP" "£" "Penny" "Gibraltar Pound" "Gibraltar pounds"
    GMD 2 Before "." "," "GMD" "D" "Butut" "Gambian Dalasi" "Gambian dalasis"
    GNF 0 Before "," " " "GNF" "FG" "Centime" "Guinean Franc" "Guinean francs"
    GTQ 2 Before "." "," "Q" "Q" "Centavo" "Guatemalan Quetzal" "Guatemalan quetzals"
    GYD 2 Before "." "," "G$" "$" "Cent" "Guyanese Dollar" "Guyanese dollars"
    HKD 2 Before "." "," "HK$" "$" "Cent" "Hong Kong Dollar" "Hong Kong dollars"
    HNL 2 Before "." "," "L" "L" "Centavo" "Honduran Lempira" "Honduran lempiras"
    HTG 2 Before "." "," "HTG" "G" "Centime" "Haitian Gourde" "Haitian gourdes"
    HUF 2 After  "," " " "Ft" "Ft" "Fillér" "Hungarian Forint" "Hungarian forints"
    IDR 2 Before "," "." "Rp" "Rp" "Sen" "Indonesian Rupiah" "Indonesian rupiahs"
    ILS 2 Before "." "," "₪" "₪" "Agora" "Israeli New Shekel" "Israeli new shekels"
    INR 2 Before "." "," "₹" "₹" "Paisa" "Indian Rupee" "Indian rupees"
    IQD 3 Before "." "," "IQD" "ع.د" "Fils" "Iraqi Dinar" "Iraqi dinars"
    IRR 2 Before "." "," "IRR" "﷼" "Dinar" "Iranian Rial" "Iranian rials"
    ISK 0 After  "," "." "ISK" "kr" "Eyrir" "Icelandic Króna" "Icelandic krónur"
    JMD 2 Before "." "," "J$" "$" "Cent" "Jamaican Dollar" "Jamaican dollars"
    JOD 3 Before "." "," "JOD" "د.أ" "Fils" "Jordanian Dinar" "Jordanian dinars"
    JPY 0 Before "." "," "¥" "￥" "Sen" "Japanese Yen" "Japanese yen"
    KES 2 Before "." "," "KSh" "Ksh" "Cent" "Kenyan Shilling" "Kenyan shillings"
    KGS 2 After  "," " " "KGS" "сом" "Tyiyn" "Kyrgyz Som" "Kyrgyz soms"
    KHR 2 Before "." "," "៛" "៛" "Sen" "Cambodian Riel" "Cambodian riels"
    KMF 0 Before "," " " "KMF" "CF" "Centime" "Comorian Franc" "Comorian francs"
    KPW 2 Before "." "," "KPW" "₩" "Chon" "North Korean Won" "North Korean won"
    KRW 0 Before "." "," "₩" "₩" "Jeon" "South Korean Won" "South Korean won"
    KWD 3 Before "." "," "KWD" "د.ك" "Fils" "Kuwaiti Dinar" "Kuwaiti dinars"
    KYD 2 Before "." "," "CI$" "$" "Cent" "Cayman Islands Dollar" "Cayman Islands dollars"
    KZT 2 After  "," " " "₸" "₸" "Tiyn" "Kazakhstani Tenge" "Kazakhstani tenges"
    LAK 2 Before "," "." "₭" "₭" "Att" "Laotian Kip" "Laotian kips"
    LBP 2 Before "." "," "LBP" "ل.ل" "Piastre" "Lebanese Pound" "Lebanese pounds"
    LKR 2 Before "." "," "LKR" "රු." "Cent" "Sri Lankan Rupee" "Sri Lankan rupees"
    LRD 2 Before "." "," "L$" "$" "Cent" "Liberian Dollar" "Liberian dollars"
    LSL 2 Before "." "," "LSL" "L" "Sente" "Lesotho Loti" "Lesotho lotis"
    LYD 3 Before "." "," "LYD" "د.ل" "Dirham" "Libyan Dinar" "Libyan dinars"
    MAD 2 After  "," "." "MAD" "د.م." "Centime" "Moroccan Dirham" "Moroccan dirhams"
    MDL 2 After  "," "." "MDL" "L" "Ban" "Moldovan Leu" "Moldovan lei"
    MGA 2 Before "," " " "Ar" "Ar" "Iraimbilanja" "Malagasy Ariary" "Malagasy ariaries"
    MKD 2 After  "," "." "MKD" "ден." "Deni" "Macedonian Denar" "Macedonian denari"
    MMK 2 Before "." "," "MMK" "K" "Pya" "Myanmar Kyat" "Myanmar kyats"
    MNT 2 Before "." "," "₮" "₮" "Möngö" "Mongolian Tugrik" "Mongolian tugriks"
    MOP 2 Before "." "," "MOP$" "MOP$" "Avo" "Macanese Pataca" "Macanese patacas"
    MRU 2 After  "," " " "MRU" "UM" "Khoums" "Mauritanian Ouguiya" "Mauritanian ouguiyas"
    MUR 2 Before "." "," "MUR" "Rs" "Cent" "Mauritian Rupee" "Mauritian rupees"
    MVR 2 Before "." "," "MVR" "ރ." "Laari" "Maldivian Rufiyaa" "Maldivian rufiyaas"
    MWK 2 Before "." "," "MK" "MK" "Tambala" "Malawian Kwacha" "Malawian kwacha"
    MXN 2 Before "." "," "MX$" "$" "Centavo" "Mexican Peso" "Mexican pesos"
    MYR 2 Before "." "," "RM" "RM" "Sen" "Malaysian Ringgit" "Malaysian ringgits"
    MZN 2 After  "," "." "MT" "MTn" "Centavo" "Mozambican Metical" "Mozambican meticals"
    NAD 2 Before "." "," "N$" "$" "Cent" "Namibian Dollar" "Namibian dollars"
    NGN 2 Before "." "," "₦" "₦" "Kobo" "Nigerian Naira" "Nigerian nairas"
    NIO 2 Before "." "," "C$" "C$" "Centavo" "Nicaraguan Córdoba" "Nicaraguan córdobas"
    NOK 2 After  "," " " "NOK" "kr" "Øre" "Norwegian Krone" "Norwegian kroner"
    NPR 2 Before "." "," "NPR" "रु" "Paisa" "Nepalese Rupee" "Nepalese rupees"
    NZD 2 Before "." "," "NZ$" "$" "Cent" "New Zealand Dollar" "New Zealand dollars"
    OMR 3 Before "." "," "OMR" "ر.ع." "Baisa" "Omani Rial" "Omani rials"
    PAB 2 Before "." "," "B/." "B/." "Centésimo" "Panamanian Balboa" "Panamanian balboas"
    PEN 2 Before "." "," "S/" "S/" "Céntimo" "Peruvian Sol" "Peruvian soles"
    PGK 2 Before "." "," "K" "K" "Toea" "Papua New Guinean Kina" "Papua New Guinean kina"
    PHP 2 Before "." "," "₱" "₱" "Centavo" "Philippine Peso" "Philippine pesos"
    PKR 2 Before "." "," "PKR" "Rs" "Paisa" "Pakistani Rupee" "Pakistani rupees"
    PLN 2 After  "," " " "zł" "zł" "Grosz" "Polish Zloty" "Polish zlotys"
    PYG 0 Before "," "." "₲" "₲" "Céntimo" "Paraguayan Guarani" "Paraguayan guaranis"
    QAR 2 Before "." "," "QAR" "ر.ق" "Dirham" "Qatari Riyal" "Qatari riyals"
    RON 2 After  "," "." "lei" "lei" "Ban" "Romanian Leu" "Romanian lei"
    RSD 2 After  "," "." "RSD" "RSD" "Para" "Serbian Dinar" "Serbian dinars"
    RUB 2 After  "," " " "₽" "₽" "Kopeck" "Russian Ruble" "Russian rubles"
    RWF 0 Before "," " " "RWF" "FRw" "Centime" "Rwandan Franc" "Rwandan francs"
    SAR 2 Before "." "," "SAR" "ر.س" "Halala" "Saudi Riyal" "Saudi riyals"
    SBD 2 Before "." "," "SI$" "$" "Cent" "Solomon Islands Dollar" "Solomon Islands dollars"
    SCR 2 Before "." "," "SCR" "SR" "Cent" "Seychellois Rupee" "Seychellois rupees"
    SDG 2 Before "." "," "SDG" "ج.س." "Piastre" "Sudanese Pound" "Sudanese pounds"
    SEK 2 After  "," " " "SEK" "kr" "Öre" "Swedish Krona" "Swedish kronor"
    SGD 2 Before "." "," "S$" "$" "Cent" "Singapore Dollar" "Singapore dollars"
    SHP 2 Before "." "," "SHP" "£" "Penny" "St. Helena Pound" "St. Helena pounds"
    SLE 2 Before "." "," "Le" "Le" "Cent" "Sierra Leonean Leone" "Sierra Leonean leones"
    SOS 2 Before "." "," "SOS" "S" "Cent" "Somali Shilling" "Somali shillings"
    SRD 2 Before "," "." "SRD" "$" "Cent" "Surinamese Dollar" "Surinamese dollars"
    SSP 2 Before "." "," "SSP" "£" "Piastre" "South Sudanese Pound" "South Sudanese pounds"
    STN 2 After  "," " " "Db" "Db" "Cêntimo" "São Tomé & Príncipe Dobra" "São Tomé & Príncipe dobras"
    SVC 2 Before "." "," "SVC" "₡" "Centavo" "Salvadoran Colón" "Salvadoran colones"
    SYP 2 Before "." "," "SYP" "ل.س" "Piastre" "Syrian Pound" "Syrian pounds"
    SZL 2 Before "." "," "SZL" "E" "Cent" "Swazi Lilangeni" "Swazi emalangeni"
    THB 2 Before "." "," "฿" "฿" "Satang" "Thai Baht" "Thai baht"
    TJS 2 After  "," " " "TJS" "SM" "Diram" "Tajikistani Somoni" "Tajikistani somonis"
    TMT 2 After  "," " " "TMT" "m" "Tenge" "Turkmenistani Manat" "Turkmenistani manat"
    TND 3 After  "," "." "TND" "د.ت" "Millime" "Tunisian Dinar" "Tunisian dinars"
    TOP 2 Before "." "," "T$" "T$" "Seniti" "Tongan Paʻanga" "Tongan paʻanga"
    TRY 2 Before "," "." "₺" "₺" "Kuruş" "Turkish Lira" "Turkish lira"
    TTD 2 Before "." "," "TT$" "$" "Cent" "Trinidad & Tobago Dollar" "Trinidad & Tobago dollars"
    TWD 2 Before "." "," "NT$" "$" "Cent" "New Taiwan Dollar" "New Taiwan dollars"
    TZS 2 Before "." "," "TSh" "TSh" "Cent" "Tanzanian Shilling" "Tanzanian shillings"
    UAH 2 After  "," " " "₴" "₴" "Kopiyka" "Ukrainian Hryvnia" "Ukrainian hryvnias"
    UGX 0 Before "." "," "USh" "USh" "Cent" "Ugandan Shilling" "Ugandan shillings"
    USD 2 Before "." "," "$" "$" "Cent" "US Dollar" "US dollars"
    UYU 2 Before "," "." "$U" "$" "Centésimo" "Uruguayan Peso" "Uruguayan pesos"
    UZS 2 After  "," " " "UZS" "soʻm" "Tiyin" "Uzbekistani Som" "Uzbekistani som"
    VES 2 Before "," "." "Bs." "Bs." "Céntimo" "Venezuelan Bolívar" "Venezuelan bolívars"
    VND 0 After  "," "." "₫" "₫" "Xu" "Vietnamese Dong" "Vietnamese dong"
    VUV 0 Before "." "," "VT" "VT" "Centime" "Vanuatu Vatu" "Vanuatu vatus"
    WST 2 Before "." "," "WS$" "WS$" "Sene" "Samoan Tala" "Samoan tala"
    XAF 0 Before "," " " "XAF" "FCFA" "Centime" "Central African CFA Franc" "Central African CFA francs"
    XCD 2 Before "." "," "EC$" "$" "Cent" "East Caribbean Dollar" "East Caribbean dollars"
    XCG 2 Before "." "," "Cg" "Cg" "Cent" "Caribbean Guilder" "Caribbean guilders"
    XOF 0 Before "," " " "XOF" "F CFA" "Centime" "West African CFA Franc" "West African CFA francs"
    XPF 0 After  "," " " "XPF" "F" "Centime" "CFP Franc" "CFP francs"
    YER 2 Before "." "," "YER" "ر.ي" "Fils" "Yemeni Rial" "Yemeni rials"
    ZAR 2 Before "." "," "R" "R" "Cent" "South African Rand" "South African rand"
    ZMW 2 Before "." "," "ZK" "K" "Ngwee" "Zambian Kwacha" "Zambian kwacha"
    ZWG 2 Before "." "," "ZiG" "ZiG" "Cent" "Zimbabwean Gold" "Zimbabwean gold"
};
