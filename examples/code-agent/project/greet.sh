# Greets someone.
greet() {
    echo "Hello!"
}
