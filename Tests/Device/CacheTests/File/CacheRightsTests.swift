import Foundation
import Testing

@testable import StratusCache

/// The cache's files can be read only by their user.
@Suite struct CacheRightsTests {
    private func modes(_ path: String) throws -> [String: Int?] {
        var modes: [String: Int?] = [:]
        for suffix in ["", "-wal", "-shm"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path + suffix)
            modes[suffix] = (attributes[.posixPermissions] as? NSNumber)?.intValue
        }
        return modes
    }

    @Test func cacheFilesAreReadableByTheirUserOnly() throws {
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        let made = try CloudCache(path: path, remotes: [RealService().remote()])
        #expect(try modes(path) == ["": 0o600, "-wal": 0o600, "-shm": 0o600])
        // The rights that an earlier release left, while a process has the files open.
        for suffix in ["", "-wal", "-shm"] { chmod(path + suffix, 0o644) }
        let again = try CloudCache(path: path, remotes: [RealService().remote()])
        #expect(try modes(path) == ["": 0o600, "-wal": 0o600, "-shm": 0o600])
        try again.close()
        try made.close()
    }

    @Test func fileOfAnotherProgramKeepsItsPermissions() throws {
        let path = NSTemporaryDirectory() + "other-\(UUID().uuidString)"
        defer { unlink(path) }
        try Data("This is no cache at all, and nobody's secret either.".utf8)
            .write(to: URL(fileURLWithPath: path))
        chmod(path, 0o644)
        #expect(throws: CacheError.self) {
            try CloudCache(path: path, remotes: [RealService().remote()])
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o644)
    }
}
