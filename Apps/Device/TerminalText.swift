extension String {
    /// The text without control characters of a terminal, except line breaks and tabs.
    package var shownInTerminal: String {
        var plain = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            if !isControl || scalar == "\n" || scalar == "\t" { plain.append(scalar) }
        }
        return String(plain)
    }
}

extension String {
    /// JSON that cannot control the terminal that it is printed on: control characters are escaped, and programs read
    /// the same text.
    package var jsonShownInTerminal: String {
        var plain = ""
        for scalar in unicodeScalars {
            let isSteering =
                switch scalar.properties.generalCategory {
                case .control: scalar != "\n"
                case .format, .lineSeparator, .paragraphSeparator: scalar.value <= 0xFFFF
                default: false
                }
            if isSteering {
                let digits = String(scalar.value, radix: 16)
                plain += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                plain.unicodeScalars.append(scalar)
            }
        }
        return plain
    }
}
