/// An error that is shown to a person as it is, without a stack trace or a type's name.
package struct OneSentence: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
