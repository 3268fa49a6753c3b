import Foundation
import StratusWire

/// The fixture files of the tests.
enum Fixtures {
    static func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appending(path: path)))
    }

    static func names(in path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: path).path)
            .sorted()
    }

    private static var folder: URL {
        Bundle.module.bundleURL.appending(path: "Fixtures")
    }
}

extension JSONDocument.Parser {
    /// The parsers that are part of this build.
    static var available: [Self] {
        #if canImport(CSimdjson)
            [.simdjson, .swift]
        #else
            [.swift]
        #endif
    }
}
