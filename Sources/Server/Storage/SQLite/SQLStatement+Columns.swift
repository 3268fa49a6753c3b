import CStorage
import StratusRecords
import StratusSQLite

/// A value that is stored in one column, or in several that follow each other.
protocol ColumnValue {
    /// Binds the value to the next parameters of a statement, and counts them.
    func bind(to statement: SQLStatement, after index: inout Int32) throws
}

extension SQLStatement {
    /// Bytes of a value after which the processor is yielded.
    private static let bytesBeforeYield = 128 * 1_024

    /// The bytes of a column. Yields the processor after a long value, which takes as long as many steps but is not
    /// counted as one.
    func bytes(_ column: Int32) -> [UInt8] {
        let bytes = [UInt8](rawBytes(column))
        if bytes.count >= Self.bytesBeforeYield { stratus_yield() }
        return bytes
    }

    /// Binds values to the statement's parameters in order. For rows that are rarely written: it takes a few calls more
    /// than binding each by its number.
    func bindAll<each Value: ColumnValue>(_ values: repeat each Value) throws -> Self {
        var index: Int32 = 0
        repeat try (each values).bind(to: self, after: &index)
        return self
    }
}

extension Int64: ColumnValue {
    func bind(to statement: SQLStatement, after index: inout Int32) throws {
        index += 1
        try statement.bind(index, self)
    }
}

extension Bool: ColumnValue {
    func bind(to statement: SQLStatement, after index: inout Int32) throws {
        try (self ? 1 : 0 as Int64).bind(to: statement, after: &index)
    }
}

extension String: ColumnValue {
    func bind(to statement: SQLStatement, after index: inout Int32) throws {
        try Optional(self).bind(to: statement, after: &index)
    }
}

extension String?: ColumnValue {
    func bind(to statement: SQLStatement, after index: inout Int32) throws {
        index += 1
        try statement.bind(index, self)
    }
}

extension ContainerAddress: ColumnValue {
    /// Takes two columns: the container and the environment.
    func bind(to statement: SQLStatement, after index: inout Int32) throws {
        try container.bind(to: statement, after: &index)
        try environment.rawValue.bind(to: statement, after: &index)
    }
}
