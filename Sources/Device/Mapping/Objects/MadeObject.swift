/// An object that the mapping created, held weakly.
struct MadeObject: Sendable {
    weak let object: (any CloudEntity & AnyObject)?
}
