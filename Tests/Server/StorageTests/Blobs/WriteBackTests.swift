import CStorage
import Foundation
import Testing

/// An error that occurs while a piece of a file is written is reported by that call alone: a later `fsync` of the
/// file succeeds.
@Suite struct WriteBackTests {
    @Test func writeBackErrorIsReported() throws {
        #if os(Linux)
            // No file is open under this descriptor.
            #expect(stratus_write_back(-1, 0, 1) == EBADF)
        #endif
    }

    @Test func writeBackOfAPipeSucceeds() throws {
        let pipe = Pipe()
        #expect(stratus_write_back(pipe.fileHandleForWriting.fileDescriptor, 0, 1) == 0)
    }

    @Test func writeBackOfAFileRangeSucceeds() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(repeating: 7, count: 200_000).write(to: url)
        defer { unlink(url.path) }
        let file = try FileHandle(forUpdating: url)
        #expect(stratus_write_back(file.fileDescriptor, 0, 131_072) == 0)
        try file.close()
    }
}
