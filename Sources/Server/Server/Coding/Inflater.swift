import CZlib
import NIOCore

/// Inflates gzip (RFC 1952, also with several members) or zlib (RFC 1950), piece by piece.
final class Inflater {
    /// The bytes are not in the format, or are damaged.
    struct Malformed: Error {}

    /// zlib stores the address, so it must not change.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    /// Whether the input so far ends at the end of a member.
    private(set) var isComplete = false

    /// - Throws: ``Malformed`` when there is no memory.
    init() throws {
        stream.initialize(to: z_stream())
        guard stratus_inflate_begin(stream) == Z_OK else { throw Malformed() }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Inflates the input, up to a number of bytes. Returns fewer only when all of the input was read.
    ///
    /// - Throws: ``Malformed``.
    func inflate(_ input: inout ByteBuffer, atMost count: Int) throws -> ByteBuffer {
        var output = ByteBuffer()
        if isComplete, input.readableBytes > 0 {
            // Another member follows.
            guard inflateReset(stream) == Z_OK else { throw Malformed() }
        }
        while output.readableBytes < count {
            let before = (read: input.readerIndex, written: output.readableBytes)
            let room = count - output.readableBytes
            let status = input.readWithUnsafeMutableReadableBytes { bytes in
                var status = Z_OK
                stream.pointee.next_in = bytes.bindMemory(to: UInt8.self).baseAddress
                stream.pointee.avail_in = UInt32(bytes.count)
                output.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { space in
                    stream.pointee.next_out = space.bindMemory(to: UInt8.self).baseAddress
                    stream.pointee.avail_out = UInt32(room)
                    status = CZlib.inflate(stream, Z_NO_FLUSH)
                    return room - Int(stream.pointee.avail_out)
                }
                return (bytes.count - Int(stream.pointee.avail_in), status)
            }
            switch status {
            case Z_OK: isComplete = false
            case Z_STREAM_END:
                isComplete = true
                guard input.readableBytes > 0 else { return output }
                // Another member follows.
                guard inflateReset(stream) == Z_OK else { throw Malformed() }
            // No more can be inflated from this input.
            case Z_BUF_ERROR: return output
            default: throw Malformed()
            }
            if before == (input.readerIndex, output.readableBytes) { return output }
        }
        return output
    }
}

/// Compresses a whole buffer.
enum Gzip {
    /// The highest ratio at which an answer is compressed: clients refuse answers that look like a decompression bomb,
    /// widely used ones (AsyncHTTPClient's shared one) at 25 times the compressed size.
    static let ratioOfAnswers = 20
    /// From 1 to 9. A page of 200 records with 128 kB becomes 5.2 times smaller in 0.8 ms; with 6 it would be 5.9 times
    /// in 1.6 ms.
    private static let level: Int32 = 3

    /// - Returns: Nil if the result would not be shorter, or more than `ratio` times shorter.
    static func compressed(_ bytes: ByteBuffer, ratio: Int = 2_000) -> ByteBuffer? {
        var stream = z_stream()
        return withUnsafeMutablePointer(to: &stream) { stream in
            guard stratus_deflate_begin(stream, level) == Z_OK else { return nil }
            defer { deflateEnd(stream) }
            var output = ByteBuffer()
            let status = bytes.withUnsafeReadableBytes { input in
                var status = Z_OK
                // zlib does not write to its input; its pointer type lacks `const`.
                stream.pointee.next_in = UnsafeMutablePointer(
                    mutating: input.bindMemory(to: UInt8.self).baseAddress)
                stream.pointee.avail_in = UInt32(input.count)
                output.writeWithUnsafeMutableBytes(minimumWritableBytes: input.count) { space in
                    stream.pointee.next_out = space.bindMemory(to: UInt8.self).baseAddress
                    stream.pointee.avail_out = UInt32(input.count)
                    status = deflate(stream, Z_FINISH)
                    return input.count - Int(stream.pointee.avail_out)
                }
                return status
            }
            guard status == Z_STREAM_END, output.readableBytes * ratio >= bytes.readableBytes
            else { return nil }
            return output
        }
    }
}
