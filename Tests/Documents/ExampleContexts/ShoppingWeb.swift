import ShoppingWeb

private var device: PageDevice { fatalError() }
