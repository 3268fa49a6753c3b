extension String {
    /// The text as a terminal may show it: lines and tabs stay, whatever else would steer it is left out.
    package var shownInTerminal: String {
        var plain = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            if !isControl || scalar == "\n" || scalar == "\t" { plain.append(scalar) }
        }
        return String(plain)
    }
}
