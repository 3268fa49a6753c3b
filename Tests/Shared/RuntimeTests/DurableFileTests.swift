import Foundation
import StratusRuntime
import Testing

/// A file is replaced as a whole, for its owner alone, and a failure leaves it as it was.
@Suite struct DurableFileTests {
    /// Runs a body with the path of a folder of its own.
    private func withFolder(_ body: (_ path: String) throws -> Void) throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "stratus-durable-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        // A folder that cannot be removed stays among the system's temporary files.
        defer { try? FileManager.default.removeItem(at: url) }
        try body(url.path)
    }

    private func replace(_ path: String, with text: String) throws {
        try DurableFile.replace(path, with: Array(text.utf8)) { SystemFailure(code: $0) }
    }

    @Test func fileIsReplacedForItsOwnerAlone() throws {
        try withFolder { folder in
            let path = folder + "/file"
            try Data("a draft that a crash left".utf8).write(
                to: URL(fileURLWithPath: path + ".new"))
            for text in ["one", "", "another"] {
                try replace(path, with: text)
                #expect(FileManager.default.contents(atPath: path) == Data(text.utf8))
            }
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["file"])
        }
    }

    @Test func failureHasTheSystemsNumberAndLeavesNoDraft() throws {
        try withFolder { folder in
            let path = folder + "/folder"
            try FileManager.default.createDirectory(
                atPath: path + "/inside", withIntermediateDirectories: true)
            #expect(throws: SystemFailure(code: EISDIR)) { try replace(path, with: "text") }
            #expect(throws: SystemFailure(code: ENOENT)) {
                try replace(folder + "/missing/file", with: "text")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["folder"])
        }
    }

    @Test func missingFolderIsNotSynced() throws {
        try withFolder { folder in
            #expect(DurableFile.sync(folder) == 0)
            #expect(DurableFile.sync(folder + "/missing") == ENOENT)
        }
    }
}
