import Dispatch
import Foundation
import Synchronization

/// The files that this process watches for commits of other processes: one kernel watch for all.
final class CacheWatches: Sendable {
    static let shared = CacheWatches()

    private struct State {
        var nextKey: UInt64 = 0
        var handlers: [UInt64: (watch: Int32, body: @Sendable () -> Void)] = [:]
        var sources: [UInt64: any DispatchSourceProtocol] = [:]
    }

    private let queue = DispatchQueue(label: "stratus.cache.watch")
    private let state = Mutex(UncheckedState())
    #if os(Linux)
        private let descriptor: Int32
        /// Not marked as sendable; never changes, and is only resumed and cancelled.
        private nonisolated(unsafe) let source: (any DispatchSourceRead)?
    #endif

    /// Dispatch sources are not marked as sendable; they are used only under the lock.
    private struct UncheckedState: @unchecked Sendable {
        var value = State()
    }

    /// Calls a body whenever the file is written, until ``end(_:)``.
    ///
    /// If the kernel has no watches left, nothing is reported, and the file is checked every few seconds instead.
    func watch(_ path: String, _ body: @escaping @Sendable () -> Void) -> UInt64 {
        #if os(Linux)
            // Under the lock: the kernel has one watch per file, and `end` removes it unless another
            // handler has it.
            return state.withLock { state in
                let watch = path.withCString {
                    inotify_add_watch(descriptor, $0, UInt32(IN_MODIFY | IN_CLOSE_WRITE))
                }
                state.value.nextKey += 1
                state.value.handlers[state.value.nextKey] = (watch, body)
                return state.value.nextKey
            }
        #else
            let file = open(path, O_EVTONLY | O_CLOEXEC)
            let source =
                file < 0
                ? nil
                : DispatchSource.makeFileSystemObjectSource(
                    fileDescriptor: file, eventMask: [.write, .attrib], queue: queue)
            source?.setEventHandler(handler: body)
            source?.setCancelHandler { close(file) }
            source?.resume()
            return state.withLock { state in
                state.value.nextKey += 1
                state.value.sources[state.value.nextKey] = source
                return state.value.nextKey
            }
        #endif
    }

    func end(_ key: UInt64) {
        #if os(Linux)
            state.withLock { state in
                guard let ended = state.value.handlers.removeValue(forKey: key) else { return }
                let isShared = state.value.handlers.values.contains { $0.watch == ended.watch }
                if !isShared { inotify_rm_watch(descriptor, ended.watch) }
            }
        #else
            state.withLock { $0.value.sources.removeValue(forKey: key)?.cancel() }
        #endif
    }

    #if os(Linux)
        private init() {
            descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            guard descriptor >= 0 else {
                source = nil
                return
            }
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            self.source = source
            source.setEventHandler { [self] in drain() }
            source.resume()
        }

        /// Reads which files were written, and calls the bodies of each once.
        private func drain() {
            var written: Set<Int32> = []
            var hasOverflown = false
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 else { break }
                var offset = 0
                while offset + MemoryLayout<inotify_event>.size <= count {
                    let event = buffer.withUnsafeBytes {
                        $0.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                    }
                    if event.wd < 0 { hasOverflown = true } else { written.insert(event.wd) }
                    offset += MemoryLayout<inotify_event>.size + Int(event.len)
                }
            }
            let bodies = state.withLock { state in
                state.value.handlers.values.filter { hasOverflown || written.contains($0.watch) }
                    .map(\.body)
            }
            for body in bodies { body() }
        }
    #else
        private init() {}
    #endif
}
