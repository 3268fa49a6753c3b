/// Whether two secrets are the same, compared in a time that depends only on their lengths: it does not reveal where
/// they differ.
@inlinable
package func isEqualInConstantTime(
    _ one: some Collection<UInt8>, _ other: some Collection<UInt8>
) -> Bool {
    one.count == other.count && zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
}
