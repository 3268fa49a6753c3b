#if canImport(CSimdjson)
    import CSimdjson

    /// Parses with simdjson's DOM parser.
    enum SimdjsonTape {
        static func parse(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> JSONDocument.Tape {
            var document: OpaquePointer?
            // simdjson counts the root as a level.
            let status = stratus_json_parse(
                bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count,
                JSONDocument.maximumDepth + 1, &document)
            guard status == stratus_json_ok, let document,
                let words = stratus_json_tape(document),
                let strings = stratus_json_strings(document)
            else { throw error(of: status) }
            return JSONDocument.Tape(words: words, strings: strings) {
                stratus_json_free(document)
            }
        }

        private static func error(of status: stratus_json_status) -> WireError {
            switch status {
            case stratus_json_too_deep: .nestedTooDeeply
            case stratus_json_invalid_utf8: .invalidUTF8
            case stratus_json_invalid_number: .invalidNumber
            case stratus_json_invalid_escape: .invalidEscape
            case stratus_json_out_of_memory: .outOfMemory
            default: .invalidJSON
            }
        }
    }
#endif
