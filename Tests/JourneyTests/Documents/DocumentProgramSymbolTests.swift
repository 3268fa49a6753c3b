import Foundation
import Testing

/// The table lists exactly the symbols that the programs of the documents use.
struct DocumentProgramSymbolTests {
    /// The programs' sources in one text, without white space.
    private static func programs() throws -> String {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Documents/DocumentPrograms")
        return try ["Memo", "Tasks"].flatMap { name -> [String] in
            let part = folder.appendingPathComponent(name)
            return try FileManager.default.contentsOfDirectory(atPath: part.path).sorted()
                .map { try String(contentsOf: part.appendingPathComponent($0), encoding: .utf8) }
        }.joined(separator: "\n")
    }

    private static func pressed(_ text: String) -> String {
        text.filter { !$0.isWhitespace }
    }

    @Test("Every symbol of the documents is used by the programs")
    func documentSymbolsAreUsedByPrograms() throws {
        let programs = Self.pressed(try Self.programs())
        for symbol in DocumentSymbol.all {
            let places = symbol.places.map(\.rawValue).joined(separator: "; ")
            #expect(
                programs.contains(Self.pressed(symbol.spelling)), "\(symbol.spelling): \(places)")
        }
    }

    @Test("Every type of CloudKit that the programs use is in the table")
    func programSymbolsAreListedInTable() throws {
        let listed = Set(DocumentSymbol.all.map(\.spelling))
        let used = Set(
            try Self.programs().matches(of: /\bCK[A-Z][A-Za-z]+\b/).map { String($0.output) })
        #expect(used.subtracting(listed) == [])
        #expect(used.count > 20)
    }
}
