extension ServiceError {
    /// A request that is malformed, or asks for something that does not exist.
    package static func invalid(_ reason: String) -> ServiceError {
        ServiceError(.badRequest, reason, frameworkCode: .invalidArguments)
    }

    /// A request that exceeds a limit.
    package static func overLimit(_ reason: String) -> ServiceError {
        ServiceError(.badRequest, reason, frameworkCode: .limitExceeded)
    }

    /// A value of a type other than the field's.
    package static func expected(_ type: FieldType) -> ServiceError {
        invalid("Invalid value, expected type \(type.rawValue).")
    }
}
