/// An error that is shown to the user in one sentence, without a stack or a type's name.
package struct OneSentence: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}
