print("room")
