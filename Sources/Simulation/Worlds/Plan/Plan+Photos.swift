import StratusTesting

/// Photos in worlds on files. Whether a world has them, and their steps, come from separate sequences of numbers.
extension Plan {
    var hasPhotosOnFiles: Bool {
        var numbers = SeededNumbers(seed: seed ^ 0x5048_4F54)
        return numbers.below(3) == 0 && isOnFiles && !hasRestores
    }

    func photosOnFiles(_ stepCount: Int) -> [Int: [Step]] {
        guard hasPhotosOnFiles else { return [:] }
        var numbers = SeededNumbers(seed: seed ^ 0x5048_4F32)
        var photos: [Int: [Step]] = [:]
        for _ in 0..<12 + numbers.below(12) {
            photos.add([assetStep(&numbers)], among: stepCount, &numbers)
        }
        for _ in 0..<2 {
            photos.add(photoForAnother(&numbers), among: stepCount, &numbers)
        }
        return photos
    }
}
