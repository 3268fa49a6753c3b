/// An error that is told to a person in one sentence, without a stack or a type's name.
package struct OneSentence: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}
