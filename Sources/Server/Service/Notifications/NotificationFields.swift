import StratusRecords
import StratusWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The fields of a record that a notification may contain: strings, numbers, dates, locations and references, with
/// strings cut to a length; no encrypted fields. In a text, dates are in ISO 8601, UTC.
struct NotificationFields {
    private let fields: [Field]
    private let textCharacters: Int

    init(_ fields: [Field], textCharacters: Int) {
        self.fields = fields
        self.textCharacters = textCharacters
    }

    /// The fields with these names that a notification may contain, in the names' order, and whether one was cut.
    func values(named names: [String]) -> (fields: [Field], isCut: Bool) {
        var isCut = false
        let values = names.compactMap { name -> Field? in
            guard var field = field(name) else { return nil }
            switch field.value {
            case .string(let text) where text.count > textCharacters:
                isCut = true
                field.value = .string(String(text.prefix(textCharacters)))
                return field
            case .string, .int64, .double, .timestamp, .location, .reference: return field
            default: return nil
            }
        }
        return (values, isCut)
    }

    /// A field as an argument of a localized text; empty when the field has no such form.
    func text(_ name: String) -> String {
        switch field(name)?.value {
        case .string(let text): String(text.prefix(textCharacters))
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .timestamp(let milliseconds, _):
            Date(timeIntervalSince1970: Double(milliseconds) / 1_000).formatted(.iso8601)
        case .reference(let reference): reference.recordName
        default: ""
        }
    }

    private func field(_ name: String) -> Field? {
        fields.first { $0.name == name && !$0.isEncrypted }
    }
}

extension SubscriptionDictionary.NotificationInfo {
    /// Whether a notification needs the record's fields.
    var namesFields: Bool {
        !additionalFields.isEmpty || !alertLocalizationArgs.isEmpty
            || !titleLocalizationArgs.isEmpty || !subtitleLocalizationArgs.isEmpty
            || collapseIDKey != nil
    }

    /// Replaces the names of fields by the record's values.
    ///
    /// Arguments name fields, as in CloudKit. ``collapseIDKey`` does so if the record has such a field; otherwise it is
    /// itself the identifier by which notifications collapse.
    mutating func fillArguments(_ text: (String) -> String) {
        alertLocalizationArgs = alertLocalizationArgs.map(text)
        titleLocalizationArgs = titleLocalizationArgs.map(text)
        subtitleLocalizationArgs = subtitleLocalizationArgs.map(text)
        if let key = collapseIDKey {
            let value = text(key)
            if !value.isEmpty { collapseIDKey = value }
        }
    }
}
