import Foundation
import StratusTesting

/// A keyed archive in memory whose content a test can damage before it is read.
///
/// Foundation's own archives cannot be used for that: damaged bits in their frame end the process in Foundation, before
/// any code of the framework runs.
final class DamagedCoder: NSCoder {
    indirect enum Part {
        case text(String)
        case data(Data)
        case number(Int64)
        case double(Double)
        case flag(Bool)
        case object([String: Part])
    }

    private(set) var parts: [String: Part]

    init(_ parts: [String: Part] = [:]) {
        self.parts = parts
    }

    /// The parts that an object encodes.
    static func parts(of object: any NSCoding) -> [String: Part] {
        let coder = DamagedCoder()
        object.encode(with: coder)
        return coder.parts
    }

    override var allowsKeyedCoding: Bool { true }
    override var requiresSecureCoding: Bool { true }
    override func containsValue(forKey key: String) -> Bool { parts[key] != nil }

    override func encode(_ object: Any?, forKey key: String) {
        switch object {
        case let text as NSString: parts[key] = .text(text as String)
        case let data as NSData: parts[key] = .data(data as Data)
        case let object as any NSCoding: parts[key] = .object(Self.parts(of: object))
        default: parts[key] = nil
        }
    }

    override func encode(_ value: Bool, forKey key: String) { parts[key] = .flag(value) }
    override func encode(_ value: Int64, forKey key: String) { parts[key] = .number(value) }
    override func encode(_ value: Double, forKey key: String) { parts[key] = .double(value) }

    override func decodeObject<Object: NSObject & NSCoding>(
        of type: Object.Type, forKey key: String
    ) -> Object? {
        switch parts[key] {
        case .text(let text): text as NSString as? Object
        case .data(let data): data as NSData as? Object
        // An archive stores the class, and refuses another one.
        case .object(let parts) where type != NSString.self && type != NSData.self:
            Object(coder: DamagedCoder(parts))
        default: nil
        }
    }

    override func decodeBool(forKey key: String) -> Bool {
        if case .flag(let flag) = parts[key] { flag } else { false }
    }

    override func decodeInt64(forKey key: String) -> Int64 {
        if case .number(let number) = parts[key] { number } else { 0 }
    }

    override func decodeDouble(forKey key: String) -> Double {
        if case .double(let number) = parts[key] { number } else { 0 }
    }

    // MARK: Damage

    /// The parts with one of them damaged, at any depth.
    static func damaged(
        _ parts: [String: Part], _ random: inout some RandomNumberGenerator
    ) -> [String: Part] {
        guard let key = parts.keys.sorted().randomElement(using: &random), let part = parts[key]
        else { return parts }
        var parts = parts
        parts[key] = damaged(part, &random)
        return parts
    }

    private static func damaged(
        _ part: Part, _ random: inout some RandomNumberGenerator
    ) -> Part? {
        if case .object(let inner) = part, Int.random(in: 0..<4, using: &random) > 0 {
            return .object(damaged(inner, &random))
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return nil
        case 1: return .text(["", "/", "\u{0}", "é", "[]"].randomElement(using: &random) ?? "")
        case 2: return .number([.min, -1, .max].randomElement(using: &random) ?? 0)
        case 3: return .double([.nan, -.infinity, 1e308].randomElement(using: &random) ?? 0)
        case 4: return .object([:])
        default: break
        }
        switch part {
        case .text(let text): return .data(bent(Data(text.utf8), &random))
        case .data(let data): return .data(bent(data, &random))
        case .number, .double, .flag: return .number(.random(in: .min ... .max, using: &random))
        case .object: return .flag(true)
        }
    }

    private static func bent(_ data: Data, _ random: inout some RandomNumberGenerator) -> Data {
        guard !data.isEmpty else { return Data([0xFF]) }
        var bytes = [UInt8](data)
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let index = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[index] ^= 1 << Int.random(in: 0..<8, using: &random)
            case 1: bytes[index] = Array("[]{}\",:0-eE".utf8).randomElement(using: &random) ?? 0
            case 2: bytes.remove(at: index)
            default: bytes.insert(bytes[index], at: index)
            }
            if bytes.isEmpty { break }
        }
        return Data(bytes)
    }
}
