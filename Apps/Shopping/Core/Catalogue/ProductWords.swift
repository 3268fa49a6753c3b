/// The words of what a person typed, made comparable: lower case, no accents, one form for plurals.
enum ProductWords {
    /// Splits a text into lower-case words without accents and apostrophes.
    static func split(_ text: String) -> [String] {
        var words: [String] = []
        var word = ""
        for scalar in text.lowercased().unicodeScalars {
            if let plain = plainForm(of: scalar) {
                word += plain
            } else if scalar.properties.isAlphabetic || scalar.properties.numericType != nil {
                word.unicodeScalars.append(scalar)
            } else if !isJoining(scalar), !word.isEmpty {
                words.append(word)
                word = ""
            }
        }
        if !word.isEmpty { words.append(word) }
        return words
    }

    /// The words that tell products apart, in one form: "the Tins of Tomatoes" is "tinned tomato".
    static func keys(_ words: [String]) -> [String] {
        words.filter { !fillers.contains($0) }.map(key)
    }

    /// The one form of a word that its singular and plural share; need not be an English word.
    static func key(_ word: String) -> String {
        if let special = special[word] { return special }
        guard word.count > 3 else { return word }
        if word.hasSuffix("ies") { return word.count == 4 ? cut(word, 1) : cut(word, 3) + "y" }
        if word.hasSuffix("ie") { return cut(word, 2) + "y" }
        if word.hasSuffix("oes") || word.hasSuffix("shes") || word.hasSuffix("xes") {
            return cut(word, 2)
        }
        if word.hasSuffix("ches") || word.hasSuffix("sses") { return cut(word, 2) }
        if word.hasSuffix("che") { return cut(word, 1) }
        if word.hasSuffix("ss") || word.hasSuffix("us") || word.hasSuffix("is") { return word }
        return word.hasSuffix("s") ? cut(word, 1) : word
    }

    /// Words after which a text only says what the product is for.
    static let endings: Set<String> = ["for", "with", "from"]

    private static let fillers: Set<String> = ["a", "an", "and", "of", "some", "the"]

    private static let special = [
        "tin": "tinned", "tins": "tinned", "can": "tinned", "cans": "tinned", "canned": "tinned",
        "loaves": "loaf", "leaves": "leaf", "halves": "half", "egg": "egg", "eggs": "egg",
        "figs": "fig", "teas": "tea", "hams": "ham", "veggies": "vegetable", "veg": "vegetable",
        "veggie": "vegetarian", "yogurt": "yoghurt", "yogurts": "yoghurt", "houmous": "hummus",
        "chili": "chilli", "chilies": "chilli", "chilli": "chilli", "chillies": "chilli",
        "donut": "doughnut", "donuts": "doughnut",
    ]

    private static func cut(_ word: String, _ count: Int) -> String {
        String(word.dropLast(count))
    }

    /// Marks that join the letters around them: apostrophes and combining accents.
    private static func isJoining(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "'" || scalar == "\u{2019}" || (0x300...0x36F).contains(scalar.value)
    }

    private static func plainForm(of scalar: Unicode.Scalar) -> String? {
        switch scalar {
        case "a"..."z", "0"..."9": String(scalar)
        case "à", "á", "â", "ã", "ä", "å": "a"
        case "ç": "c"
        case "è", "é", "ê", "ë": "e"
        case "ì", "í", "î", "ï": "i"
        case "ñ": "n"
        case "ò", "ó", "ô", "õ", "ö", "ø": "o"
        case "ù", "ú", "û", "ü": "u"
        case "œ": "oe"
        case "æ": "ae"
        default: nil
        }
    }
}
