/// Why a command, or an action on a page, cannot be done, as a sentence.
package struct CannotDo: Error, CustomStringConvertible {
    package let description: String

    package init(_ sentence: String) {
        description = sentence
    }
}
