import StratusMatching
import StratusRecords
import StratusStorage
import StratusWire

/// Where to find all records that can match a query: ranges of indexes, read one after the other.
struct AccessPath: Sendable {
    /// A range of one index.
    struct Segment: Hashable, Sendable {
        var definition: IndexRow.Definition
        var range: KeyRange
        /// The name of the only record to look for; nil for all records.
        var name: String?

        /// The segment's entries lie strictly between these two.
        var bounds: (IndexEntry, IndexEntry) {
            guard let name, !name.isEmpty else { return range.bounds }
            return IndexEntry(key: range.lower, name: name).bounds
        }
    }

    /// The segments of one index follow each other in the order of their keys, and do not overlap.
    let segments: [Segment]

    /// Whether a record can have several entries: for several members of a list, or in several indexes.
    let canRepeat: Bool

    /// The segments by index.
    private let runs: [(definition: IndexRow.Definition, ranges: [KeyRange], end: Int)]

    init(segments: [Segment], canRepeat: Bool) {
        self.segments = segments
        self.canRepeat = canRepeat
        var runs: [(definition: IndexRow.Definition, ranges: [KeyRange], end: Int)] = []
        for (index, segment) in segments.enumerated() where canRepeat {
            if runs.last?.definition == segment.definition {
                runs[runs.count - 1].ranges.append(segment.range)
                runs[runs.count - 1].end = index
            } else {
                runs.append((segment.definition, [segment.range], index))
            }
        }
        self.runs = runs
    }

    /// All records of a type, by name.
    static func all(of recordType: String) -> AccessPath {
        AccessPath(
            segments: [Segment(definition: .name(of: recordType), range: .all)], canRepeat: false)
    }

    /// Some records of a type, by name.
    static func records(named names: Set<String>, of recordType: String) -> AccessPath {
        // No record can have another name, and `bounds` needs printable ASCII.
        let possible = names.filter(Names.isRecordName).sorted(by: NameOrder.isBefore)
        return AccessPath(
            segments: possible.map {
                Segment(definition: .name(of: recordType), range: .all, name: $0)
            }, canRepeat: false)
    }

    /// The ranges, if all are in one index that has each record once.
    func ranges(of definition: IndexRow.Definition) -> [KeyRange]? {
        let isOneIndex = segments.allSatisfy { $0.definition == definition && $0.name == nil }
        guard !canRepeat, !segments.isEmpty, isOneIndex else { return nil }
        return segments.map(\.range)
    }

    /// Whether this entry is the first of its record along the access path. The record is visited only there.
    func isFirst(_ key: [UInt8], segment: Int, of values: RecordValues) -> Bool {
        guard canRepeat else { return true }
        for run in runs {
            if let first = run.definition.keys(of: values).first(where: run.ranges.contains(_:)) {
                return segment <= run.end && first == key
            }
        }
        return false
    }
}

extension RecordMatcher {
    /// The access paths for the filters, in an order that depends only on the query. Empty when no index serves any of
    /// the filters.
    var accessPaths: [AccessPath] {
        var scalars: [(definition: IndexRow.Definition, ranges: [KeyRange])] = []
        var accessPaths: [AccessPath] = []
        for condition in conditions {
            if condition.comparator == .containsAllTokens {
                accessPaths += condition.words.map { condition.searchPath([$0], recordType) }
                // A search without words finds nothing.
                if condition.words.isEmpty {
                    accessPaths.append(condition.searchPath([], recordType))
                }
            } else if condition.comparator == .containsAnyTokens {
                accessPaths.append(condition.searchPath(condition.words, recordType))
            } else if condition.filter.field == .system(.recordName) {
                if let names = condition.recordNames {
                    accessPaths.append(.records(named: names, of: recordType))
                }
            } else if let type = condition.type, condition.filter.field != .system(.share) {
                let definition = IndexRow.Definition.value(
                    condition.filter.field, type, of: recordType)
                if type.isList {
                    accessPaths += condition.listRanges.map { ranges in
                        AccessPath(
                            segments: ranges.map { .init(definition: definition, range: $0) },
                            canRepeat: true)
                    }
                } else if let ranges = condition.ranges(in: definition) {
                    if let index = scalars.firstIndex(where: { $0.definition == definition }) {
                        scalars[index].ranges = scalars[index].ranges.intersection(ranges)
                    } else {
                        scalars.append((definition, ranges))
                    }
                }
            }
        }
        return scalars.map { scalar in
            AccessPath(
                segments: scalar.ranges.map {
                    .init(definition: scalar.definition, range: $0)
                }, canRepeat: false)
        } + accessPaths
    }
}

extension RecordMatcher.Condition {
    /// The entries of any of the words in any of the searched fields.
    fileprivate func searchPath(_ words: [[UInt8]], _ recordType: String) -> AccessPath {
        let segments = searchedFields.flatMap { field in
            words.map { word in
                AccessPath.Segment(
                    definition: .tokens(of: field.name, field.type, of: recordType),
                    range: .only(IndexKey.counted(word)))
            }
        }
        return AccessPath(segments: segments, canRepeat: segments.count > 1)
    }

    /// The keys of a scalar that can satisfy the filter; nil when any can.
    fileprivate func ranges(in definition: IndexRow.Definition) -> [KeyRange]? {
        let value = filter.value
        switch comparator {
        case .equals: return keys(equalTo: value).map { [$0] }
        case .in: return keys(equalToAnyOf: value)
        case .lessThan, .lessThanOrEquals:
            return end(of: value, isIncluded: comparator == .lessThanOrEquals).map {
                [KeyRange(lower: IndexKey.first, upper: $0)]
            }
        case .greaterThan, .greaterThanOrEquals:
            return start(of: value, isIncluded: comparator == .greaterThanOrEquals).map {
                [KeyRange(lower: $0, upper: IndexKey.last)]
            }
        case .beginsWith: return prefix(of: value).map { [$0] }
        case .near: return circle
        default: return nil
        }
    }

    /// For a list: one set of key ranges for each way to look it up. Each set covers all lists that can
    /// satisfy the filter.
    fileprivate var listRanges: [[KeyRange]] {
        let value = filter.value
        switch comparator {
        case .listContains: return keys(equalTo: value).map { [[$0]] } ?? []
        case .listContainsAny:
            return keys(equalToAnyOf: value).map { [$0] } ?? []
        case .listContainsAll:
            return (value.members ?? []).compactMap(keys(equalTo:)).map { [$0] }
        case .listMemberBeginsWith: return prefix(of: value).map { [[$0]] } ?? []
        case .near: return circle.map { [$0] } ?? []
        default: return []
        }
    }

    /// The record names that the filter permits; nil when it permits any.
    fileprivate var recordNames: Set<String>? {
        let values: [FieldValue]
        switch comparator {
        case .equals: values = [filter.value]
        case .in: values = filter.value.members ?? []
        default: return nil
        }
        return Set(
            values.compactMap { value in
                switch value {
                case .reference(let reference): reference.recordName
                case .string(let name): name
                default: nil
                }
            })
    }

    private var circle: [KeyRange]? {
        guard case .location(let centre) = filter.value, let radius = filter.distanceMetres else {
            return nil
        }
        return centre.keys(from: 0, to: radius)
    }

    /// The keys of values equal to this one, and possibly of others; nil when they are not a range.
    private func keys(equalTo value: FieldValue) -> KeyRange? {
        switch value {
        case .location(let place): return place.isOnEarth ? .only(PlaceCell.key(of: place)) : nil
        case .reference(let reference): return .beginning(with: name(reference.recordName))
        case .string(let text) where isReference: return .beginning(with: name(text))
        default: return IndexKey.bytes(of: value).map { .only($0) }
        }
    }

    private func keys(equalToAnyOf list: FieldValue) -> [KeyRange]? {
        guard let members = list.members else { return nil }
        let ranges = members.compactMap(keys(equalTo:))
        return ranges.count == members.count ? ranges.joined : nil
    }

    private func prefix(of value: FieldValue) -> KeyRange? {
        guard case .string(let text) = value else { return nil }
        return .beginning(with: IndexKey.counted(NormalisedText.utf8(text)))
    }

    /// The key below which the keys of all smaller values lie.
    private func end(of value: FieldValue, isIncluded: Bool) -> [UInt8]? {
        guard let key = keys(equalTo: value) else { return nil }
        return isIncluded || isShortened(key) ? key.upper : key.lower
    }

    /// The key at which the keys of larger values begin.
    private func start(of value: FieldValue, isIncluded: Bool) -> [UInt8]? {
        guard let key = keys(equalTo: value) else { return nil }
        return isIncluded || isShortened(key) ? key.lower : key.upper
    }

    /// Whether values with the same key can differ, because the key has only the first bytes.
    private func isShortened(_ key: KeyRange) -> Bool { key.lower.count > IndexKey.maximumBytes }

    private var isReference: Bool { type == .reference || type == .referenceList }

    private func name(_ name: String) -> [UInt8] { IndexKey.bytes(ofName: name) }
}
