/// A failed call of the system, with its error number.
struct SystemFailure: Error, Equatable {
    var code: Int32
}
