import Foundation
import StratusMatching
import StratusRecords

/// Evaluates a predicate with an object: a record or a dictionary.
///
/// A condition that cannot compare its sides is false.
struct PredicateEvaluation {
    var object: Any?
    /// The time of `NOW()`.
    var now: Date

    func holds(_ expression: PredicateExpression) -> Bool {
        switch expression {
        case .all: true
        case .none, .unreadable: false
        case .and(let members): members.allSatisfy(holds)
        case .or(let members): members.contains(where: holds)
        case .not(let member): !holds(member)
        case .comparison(let comparison): holds(comparison)
        }
    }

    private func holds(_ comparison: PredicateComparison) -> Bool {
        let left = value(of: comparison.left)
        let right = value(of: comparison.right)
        if comparison.left.isRecord, comparison.operation == .contains {
            return holds(.tokenMatches, left, right)
        }
        switch comparison.quantifier {
        case .none: return holds(comparison.operation, left, right)
        // CONTAINS already applies to the list's members.
        case .any where comparison.operation == .contains:
            return holds(comparison.operation, left, right)
        case .any:
            return members(left).contains { holds(comparison.operation, $0, right) }
        case .all:
            return members(left).allSatisfy { holds(comparison.operation, $0, right) }
        }
    }

    private func holds(
        _ operation: PredicateComparison.Operation, _ left: Any?, _ right: Any?
    ) -> Bool {
        switch operation {
        case .equals: return same(left, right)
        case .notEquals: return !same(left, right)
        case .less: return order(left, right) { $0 == .orderedAscending }
        case .lessOrEqual: return order(left, right) { $0 != .orderedDescending }
        case .greater: return order(left, right) { $0 == .orderedDescending }
        case .greaterOrEqual: return order(left, right) { $0 != .orderedAscending }
        case .beginsWith: return left is String && text(left).hasPrefix(text(right))
        case .in: return members(right).contains { same($0, left) }
        case .contains: return members(left).contains { same($0, right) }
        case .between:
            let bounds = members(right)
            return bounds.count == 2 && order(left, bounds[0]) { $0 != .orderedAscending }
                && order(left, bounds[1]) { $0 != .orderedDescending }
        case .tokenMatches:
            let tokens = Set(SearchTokens.tokens(of: left as? [String] ?? [text(left)]))
            let wanted = SearchTokens.tokens(of: SearchWords.withoutCommonWords(text(right)))
            return !wanted.isEmpty && wanted.allSatisfy(tokens.contains)
        }
    }

    private func value(of operand: PredicateOperand) -> Any? {
        switch operand {
        case .key(let key): field(key)
        case .value(let value): value?.object
        case .list(let members): NSArray(array: members.map { value(of: $0) ?? NSNull() })
        case .record: (object as? CKRecord).map { $0.allTokens() as NSArray } ?? object
        case .now: now as NSDate
        case .distance(let first, let second):
            if let first = value(of: first) as? CLLocation,
                let second = value(of: second) as? CLLocation
            {
                NSNumber(value: first.distance(from: second))
            } else {
                nil
            }
        }
    }

    private func field(_ key: String) -> Any? {
        if let dictionary = object as? [String: Any] {
            return StoredValue(dictionary[key])?.object
        }
        guard let record = object as? CKRecord else { return nil }
        switch key {
        case "recordID", CKRecord.SystemFieldKey.recordID:
            return CKReference(record: record, action: .none)
        case "creationDate", CKRecord.SystemFieldKey.creationDate:
            return record.creationDate.map { $0 as NSDate }
        case "modificationDate", CKRecord.SystemFieldKey.modificationDate:
            return record.modificationDate.map { $0 as NSDate }
        case "creatorUserRecordID", CKRecord.SystemFieldKey.creatorUserRecordID:
            return record.creatorUserRecordID.map { CKReference(recordID: $0, action: .none) }
        case "lastModifiedUserRecordID", CKRecord.SystemFieldKey.lastModifiedUserRecordID:
            return record.lastModifiedUserRecordID.map { CKReference(recordID: $0, action: .none) }
        case CKRecord.SystemFieldKey.parent: return record.parent
        case CKRecord.SystemFieldKey.share: return record.share
        case "allTokens": return record.allTokens() as NSArray
        default: return record.object(forKey: key)
        }
    }

    private func members(_ value: Any?) -> [Any?] {
        (value as? NSArray).map { $0.map { $0 } } ?? []
    }

    private func text(_ value: Any?) -> String { value as? String ?? "" }

    private func same(_ left: Any?, _ right: Any?) -> Bool {
        switch (left, right) {
        case (nil, nil): true
        // Predicates compare only the record ID of a reference.
        case (let left as CKReference, let right as CKReference): left.recordID == right.recordID
        case (let left as NSObject, let right as NSObject): left.isEqual(right)
        default: false
        }
    }

    private func order(
        _ left: Any?, _ right: Any?, _ isOrdered: (ComparisonResult) -> Bool
    ) -> Bool {
        let result: ComparisonResult? =
            switch (left, right) {
            case (let left as NSNumber, let right as NSNumber): left.compare(right)
            case (let left as NSDate, let right as NSDate): left.compare(right as Date)
            case (let left as NSString, let right as NSString): left.compare(right as String)
            default: nil
            }
        return result.map { isOrdered($0) } ?? false
    }
}
