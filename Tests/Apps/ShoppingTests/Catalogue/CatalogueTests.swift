import ShoppingCore
import Testing

@Suite struct CatalogueTests {
    private let catalogue = Catalogue.standard

    @Test func catalogueCoversSupermarketByAisle() {
        let names = Set(catalogue.products.map { $0.name.lowercased() })
        #expect(names.count >= 500)
        #expect(names.count == catalogue.products.count)
        #expect(catalogue.aisles.count >= 20)
        #expect(catalogue.aisles == catalogue.aisles.sorted())
        #expect(Set(catalogue.aisles.map(\.name)).count == catalogue.aisles.count)
        #expect(catalogue.products.allSatisfy { $0.aisle != .other && !$0.aisle.name.isEmpty })
        // Each aisle is one section of the file, so the file shows the walking order.
        #expect(catalogue.products.map(\.aisle) == catalogue.products.map(\.aisle).sorted())
        #expect(catalogue.aisles.first?.name == "Fruit & Vegetables")
    }

    @Test func productNamesAndSynonymsAreUnique() {
        var owners: [String: [String]] = [:]
        for product in catalogue.products {
            for name in [product.name] + product.synonyms {
                owners[name.lowercased(), default: []].append(product.name)
            }
        }
        #expect(owners.filter { $0.value.count > 1 }.isEmpty)
    }

    @Test func everyNameAndSynonymFindsItsProduct() {
        for product in catalogue.products {
            for name in [product.name] + product.synonyms {
                #expect(catalogue.product(matching: name)?.name == product.name, "\(name)")
                #expect(catalogue.product(matching: "2 \(name.uppercased())") == product, "\(name)")
            }
        }
    }

    @Test(arguments: [
        ("2 pints milk", "Semi-Skimmed Milk"), ("tinned tomatoes", "Chopped Tomatoes"),
        ("tin of tomatoes", "Chopped Tomatoes"), ("Tomato", "Tomatoes"), ("TOMATOES", "Tomatoes"),
        ("milk chocolate", "Milk Chocolate"), ("a loaf of bread", "White Bread"),
        ("6 free-range eggs", "Eggs"), ("500g beef mince", "Beef Mince"),
        ("creme fraiche", "Crème Fraîche"), ("shepherd's pie", "Cottage Pie"),
        ("peppers", "Peppers"), ("pepper", "Black Pepper"),
        ("x4 cans of baked beans", "Baked Beans"),
        ("cheese for pizza", "Mature Cheddar"), ("loo roll", "Toilet Roll"),
        ("strawberry", "Strawberries"), ("loaves", "White Bread"),
        ("cookie", "Chocolate Chip Cookies"),
        ("bunch of bananas", "Bananas"), ("ice cream", "Vanilla Ice Cream"),
        ("salt & vinegar crisps", "Salt and Vinegar Crisps"), ("big box of tea bags", "Tea Bags"),
        ("houmous", "Hummus"), ("yogurt", "Natural Yoghurt"),
        ("pudding rice", "Pudding Rice"), ("tin of rice pudding", "Rice Pudding"),
        ("orange juice", "Orange Juice"), ("crunchy peanut butter", "Peanut Butter"),
        ("frozen peas", "Frozen Peas"), ("9 toilet rolls", "Toilet Roll"),
        ("pasta sauce", "Tomato Pasta Sauce"), ("extra virgin olive oil 500ml", "Olive Oil"),
    ])
    func typedTextFindsItsProduct(text: String, name: String) {
        #expect(catalogue.product(matching: text)?.name == name)
    }

    @Test(arguments: ["", "   ", "12", "!!!", "flux capacitor", "the"])
    func unknownTextHasNoProduct(text: String) {
        #expect(catalogue.product(matching: text) == nil)
        #expect(catalogue.aisle(of: text) == .other)
    }

    @Test func suggestionsBeginWithTheShortestName() {
        #expect(catalogue.suggestions(for: "mil").first?.product.name == "Semi-Skimmed Milk")
        #expect(catalogue.suggestions(for: "mil").first?.matched == "milk")
        #expect(catalogue.suggestions(for: "Banan").map(\.product.name).first == "Bananas")
        #expect(catalogue.suggestions(for: "bro").first?.product.name == "Broccoli")
    }

    @Test func suggestionsUnderstandSeveralWordsAndQuantities() {
        let chicken = catalogue.suggestions(for: "chicken br").map(\.product.name)
        #expect(chicken.first == "Chicken Breasts")
        #expect(chicken.allSatisfy { $0.contains("Chicken") })
        #expect(
            catalogue.suggestions(for: "2 pints mi") == catalogue.suggestions(for: "mi"))
        #expect(catalogue.suggestions(for: "tinned to").first?.product.name == "Chopped Tomatoes")
        #expect(!catalogue.suggestions(for: "creme f").isEmpty)
    }

    @Test func suggestionsAreBoundedAndDistinct() {
        let many = catalogue.suggestions(for: "c", limit: 1_000)
        #expect(many.count == ShoppingLimits.suggestions)
        #expect(Set(many.map(\.product)).count == many.count)
        #expect(catalogue.suggestions(for: "c", limit: 3) == Array(many.prefix(3)))
        #expect(catalogue.suggestions(for: "c", limit: 0).isEmpty)
        #expect(catalogue.suggestions(for: "c", limit: -1).isEmpty)
        #expect(catalogue.suggestions(for: " ").isEmpty)
        #expect(catalogue.suggestions(for: "qqq").isEmpty)
    }

    @Test func customCatalogueIsParsedLineByLine() {
        let own = Catalogue(text: "Nail\tTools\tnails,tack\nSaw\tTools\n\nMystery\nPlank\tWood\t\n")
        #expect(own.products.map(\.name) == ["Nail", "Saw", "Mystery", "Plank"])
        #expect(own.aisles.map(\.name) == ["Tools", "Wood"])
        #expect(own.products[2].aisle == .other)
        #expect(own.products[0].synonyms == ["nails", "tack"])
        #expect(own.product(matching: "tack")?.name == "Nail")
    }
}
